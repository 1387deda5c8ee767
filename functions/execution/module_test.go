package execution_test

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stoker-ml/stoker/events"
	"github.com/stoker-ml/stoker/functions/execution"
	"github.com/stoker-ml/stoker/functions/module"
	"github.com/stoker-ml/stoker/functions/module/modelcheck/modelchecktest"
	"github.com/stoker-ml/stoker/functions/pipeline"
	"github.com/stoker-ml/stoker/functions/runner"
	"github.com/stoker-ml/stoker/functions/runs/result"
	"github.com/stoker-ml/stoker/functions/worker"
	"github.com/stoker-ml/stoker/storage"
	"github.com/stoker-ml/stoker/storage/storagetest"
)

// reader is a runner for which a module is the bytes at its path; to run a module it reads them.
type reader struct {
	modelchecktest.Here
	ran  []module.Source
	runs string // the digest that it reports of the module that it ran
}

func (r *reader) Digest(_ context.Context, source module.Source) (string, error) {
	path := source.Path
	if info, err := os.Stat(path); err == nil && info.IsDir() {
		path = filepath.Join(path, "penguin.py")
	}
	text, err := os.ReadFile(path)
	if err != nil {
		return "", &runner.Error{Kind: runner.KindInput, Err: err}
	}
	sum := sha256.Sum256(text)
	return hex.EncodeToString(sum[:]), nil
}

func (r *reader) Run(_ context.Context, a module.Assignment, _ runner.Limits, _ func(module.Message)) (runner.Outcome, error) {
	r.ran = append(r.ran, a.Module)
	if text, err := os.ReadFile(a.Module.Path); err == nil && strings.Contains(string(text), "raise") {
		return runner.Outcome{}, &runner.Error{Kind: runner.KindModule, Err: fmt.Errorf("%s:1: it raised", a.Module.Path), LogTail: "in " + a.Module.Path}
	}
	return runner.Outcome{Module: r.runs}, nil
}

// library is a store with modules, and an executor that reads them.
type library struct {
	store    *storagetest.Memory
	runner   *reader
	cache    string
	executor *execution.Executor
}

func newLibrary(t *testing.T, over func(storage.Store) storage.Store, objects map[string]string) *library {
	t.Helper()
	l := &library{store: storagetest.NewMemory("modules"), runner: &reader{}, cache: filepath.Join(t.TempDir(), "fetched")}
	for key, text := range objects {
		l.put(t, key, text)
	}
	l.put(t, examples+"/Split-train/data", "rows")
	l.executor = execution.New(over(l.store), l.runner, execution.Options{
		Root: storage.Ref{Bucket: "modules", Key: "out"}, WorkDir: t.TempDir(), CacheDir: l.cache,
	})
	return l
}

func plainly(s storage.Store) storage.Store { return s }

func (l *library) put(t *testing.T, key, text string) {
	t.Helper()
	_, err := l.store.Put(t.Context(), storage.Ref{Bucket: "modules", Key: key}, strings.NewReader(text), int64(len(text)))
	if err != nil {
		t.Fatal(err)
	}
}

// examples is the address of every job's examples.
const examples = "up/examples"

// at is a component whose pipeline has its module at an address. Its executions differ only by
// their modules.
type at string

func (address at) Describe(job events.Job) (execution.Description, error) {
	spec := pipeline.Pipeline{Name: "p", Module: pipeline.Module{Path: string(address), RunFn: "penguin.run_fn"}}
	return execution.Description{Component: "Trainer", Spec: spec, Reads: job.Inputs, Args: []pipeline.Args{{Splits: []string{"train"}}}}, nil
}

func (at) Identity(e execution.Execution) any { return e.Module }

func (at) Start(context.Context, *execution.Attempt) (execution.Work, error) {
	return nil, errors.New("a test of modules starts no work")
}

func (at) Event(events.Job, execution.Committed, result.Result) events.Event { return events.Event{} }

func task() worker.Task {
	job := events.Job{Inputs: events.Inputs{Examples: []events.Examples{{URI: "s3://modules/" + examples, Splits: []string{"train"}}}}}
	return worker.Task{Job: job, Attempt: events.Attempt{ID: "a", Number: 1}, Report: func(events.Progress) {}, Prove: func() error { return nil }}
}

// digest returns the digest of the module at an address.
func (l *library) digest(t *testing.T, address string) (string, error) {
	t.Helper()
	known, err := l.executor.Identify(t.Context(), task(), at(address))
	return known.Module, err
}

// run executes the part of a job that concerns its module. It calls between once the execution is
// known.
func (l *library) run(t *testing.T, address string, between func()) (err error) {
	t.Helper()
	known, err := l.executor.Identify(t.Context(), task(), at(address))
	if err != nil {
		return err
	}
	attempt, err := l.executor.Open(task(), known)
	if err != nil {
		t.Fatal(err)
	}
	defer attempt.Close()
	between()
	session, err := attempt.OpenSession(t.Context(), execution.SessionOptions{KeepLog: true})
	if err != nil {
		return err
	}
	defer session.Close()
	_, err = session.Run(t.Context(), module.Assignment{}, func(module.Message) {})
	return err
}

func TestAModuleAtAnAddressIsRunFromACopy(t *testing.T) {
	t.Parallel()
	l := newLibrary(t, plainly, map[string]string{
		"penguin.py": "x", "folder/penguin.py": "x", "folder/deep/features.py": "y", "folder.zip": "PK", "trainer": "\x7fELF",
	})
	for address, want := range map[string]string{ // the content at its path
		"s3://modules/penguin.py": "penguin.py", "s3://modules/folder.zip": "folder.zip", "s3://modules/trainer": "trainer",
		"s3://modules/folder": "folder", "s3://modules/folder/": "folder",
	} {
		if err := l.run(t, address, func() {}); err != nil {
			t.Errorf("%s: %v", address, err)
			continue
		}
		source := l.runner.ran[len(l.runner.ran)-1]
		info, err := os.Stat(source.Path)
		switch {
		case err != nil || source.RunFn != "penguin.run_fn":
			t.Errorf("%s: ran %+v, %v", address, source, err)
		case want == "folder":
			if _, err := os.Stat(filepath.Join(source.Path, "deep", "features.py")); err != nil {
				t.Errorf("%s: %v", address, err)
			}
		case filepath.Base(source.Path) != want || info.Mode()&0o111 == 0:
			t.Errorf("%s: ran %s with mode %v; want %s, to be run", address, source.Path, info.Mode(), want)
		default:
			if entries, _ := os.ReadDir(filepath.Dir(source.Path)); len(entries) != 1 {
				t.Errorf("%s: its directory has %v; want that file alone", address, entries)
			}
		}
	}
}

func TestAModuleIsCopiedOnceForEachContent(t *testing.T) {
	t.Parallel()
	var opened atomic.Int32
	count := func(s storage.Store) storage.Store {
		return watched{s, func(storage.Ref) error {
			opened.Add(1)
			time.Sleep(20 * time.Millisecond) // so that the others arrive meanwhile
			return nil
		}}
	}
	l := newLibrary(t, count, map[string]string{"penguin.py": "x", "folder/penguin.py": "x"})
	var jobs sync.WaitGroup
	digests := make([]string, 16)
	for i := range digests {
		jobs.Go(func() {
			var err error
			if digests[i], err = l.digest(t, "s3://modules/penguin.py"); err != nil {
				t.Error(err)
			}
		})
	}
	jobs.Wait()
	if opened.Load() != 1 {
		t.Errorf("%d copies, want 1", opened.Load())
	}
	l.put(t, "penguin.py", "y")
	if again, err := l.digest(t, "s3://modules/penguin.py"); err != nil || again == digests[0] || opened.Load() != 2 {
		t.Errorf("after a change %s, %v, and %d copies", again, err, opened.Load())
	}
}

func TestAModuleThatChangesDuringAJobEndsItsAttempt(t *testing.T) {
	t.Parallel()
	l := newLibrary(t, plainly, map[string]string{"penguin.py": "x"})
	local := filepath.Join(t.TempDir(), "penguin.py")
	if err := os.WriteFile(local, []byte("x"), 0o600); err != nil {
		t.Fatal(err)
	}
	for address, change := range map[string]func(){
		"s3://modules/penguin.py": func() { l.put(t, "penguin.py", "y") },
		local:                     func() { _ = os.WriteFile(local, []byte("y"), 0o600) },
	} {
		err := l.run(t, address, change)
		wantFailure(t, err, events.FailureUnavailable, "module "+address+": changed while being read")
		if len(l.runner.ran) != 0 {
			t.Errorf("ran %v, whose model would be found as that of the other", l.runner.ran)
		}
	}
}

func TestWhatRanOtherwiseThanItIsKnownByIsNoResult(t *testing.T) {
	t.Parallel()
	l := newLibrary(t, plainly, map[string]string{"penguin.py": "code"})
	l.runner.runs = "another"
	address := "s3://modules/penguin.py"
	wantFailure(t, l.run(t, address, func() {}), events.FailureUnavailable, "module "+address+": changed while being read")
	l.runner.runs = fmt.Sprintf("%x", sha256.Sum256([]byte("code")))
	if err := l.run(t, address, func() {}); err != nil {
		t.Error(err)
	}
}

func TestWhoseFaultAModuleIsThatCannotBeRead(t *testing.T) {
	t.Parallel()
	fails := func(err error) func(storage.Store) storage.Store {
		return func(s storage.Store) storage.Store { return watched{s, func(storage.Ref) error { return err }} }
	}
	tests := []struct {
		name, address string
		over          func(storage.Store) storage.Store
		kind          events.FailureKind
		want          string
	}{
		{"missing", "s3://modules/none.py", plainly, events.FailureInput, "module: no object or folder exists at s3://modules/none.py: upload it"},
		{"no address", "s3:///x.py", plainly, events.FailureInput, "module: "},
		{"of another kind", "gs://modules/x.py", plainly, events.FailureInput, "gs://modules/x.py"},
		{"denied", "s3://modules/penguin.py", fails(storage.ErrDenied), events.FailureUnavailable, "input can't be read: module: stage s3://modules/penguin.py"},
		{"away", "s3://modules/penguin.py", fails(storage.ErrUnavailable), events.FailureUnavailable, "module: stage s3://modules/penguin.py"},
		{"changed while read", "s3://modules/penguin.py", fails(storage.ErrChanged), events.FailureUnavailable, "module: stage s3://modules/penguin.py"},
		{"raises", "s3://modules/raises.py", plainly, events.FailureModule, "s3://modules/raises.py:1: it raised"},
		{"unreadable", "s3://modules/empty", plainly, events.FailureInput, "open s3://modules/empty/penguin.py: no such file"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			l := newLibrary(t, tt.over, map[string]string{"penguin.py": "x", "raises.py": "raise", "empty/other.py": "x"})
			err := l.run(t, tt.address, func() {})
			wantFailure(t, err, tt.kind, tt.want)
			if failure, _ := errors.AsType[*events.Failure](err); failure != nil && strings.Contains(failure.Error()+failure.LogTail, l.cache) {
				t.Errorf("%v shows where the copy is: %s", failure, failure.LogTail)
			}
			if left, _ := filepath.Glob(filepath.Join(l.cache, "partial-*")); len(left) != 0 {
				t.Errorf("left %v", left)
			}
		})
	}
}

func TestDataIsNoModule(t *testing.T) {
	t.Parallel()
	l := newLibrary(t, func(s storage.Store) storage.Store { return large{s} }, map[string]string{"weights.bin": "x"})
	wantFailure(t, l.run(t, "s3://modules/weights.bin", func() {}), events.FailureInput, "expected code, of at most 10000 files and 1073741824 bytes")
}

func TestModulesUnusedForLongAreRemoved(t *testing.T) {
	t.Parallel()
	l := newLibrary(t, plainly, map[string]string{"penguin.py": "x", "next.py": "y"})
	if err := l.run(t, "s3://modules/penguin.py", func() {}); err != nil {
		t.Fatal(err)
	}
	used := filepath.Dir(l.runner.ran[0].Path)
	old := time.Now().Add(-8 * 24 * time.Hour)
	for _, name := range []string{"partial-old", "partial-new"} {
		if err := os.Mkdir(filepath.Join(l.cache, name), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.Chtimes(filepath.Join(l.cache, "partial-old"), old, old); err != nil {
		t.Fatal(err)
	}
	for i := range 70 {
		dir := filepath.Join(l.cache, fmt.Sprintf("%064d", i))
		if err := errors.Join(os.Mkdir(dir, 0o755), os.Chtimes(dir, old, old)); err != nil {
			t.Fatal(err)
		}
	}
	if err := l.run(t, "s3://modules/next.py", func() {}); err != nil {
		t.Fatal(err)
	}
	left, _ := filepath.Glob(filepath.Join(l.cache, "[0-9a-f]*[0-9a-f]"))
	if partial, _ := filepath.Glob(filepath.Join(l.cache, "partial-*")); len(partial) != 1 || filepath.Base(partial[0]) != "partial-new" {
		t.Errorf("of copies in the making %v are left, want the new one", partial)
	}
	if _, err := os.Stat(used); err != nil || len(left) != 65 { // 64, and the newest one
		t.Errorf("%d modules are left, %v", len(left), err)
	}
}

func wantFailure(t *testing.T, err error, kind events.FailureKind, words string) {
	t.Helper()
	if failure, ok := errors.AsType[*events.Failure](err); !ok || failure.Kind != kind || !strings.Contains(err.Error(), words) {
		t.Errorf("%v, want %s with %q", err, kind, words)
	}
}

// watched is a store that calls a function before it opens an object.
type watched struct {
	storage.Store
	open func(storage.Ref) error
}

func (w watched) Open(ctx context.Context, ref storage.Ref, ifMatch string) (io.ReadCloser, storage.Object, error) {
	if err := w.open(ref); err != nil {
		return nil, storage.Object{}, fmt.Errorf("open %s: %w", ref, err)
	}
	return w.Store.Open(ctx, ref, ifMatch)
}

// large is a store that reports a size of two gigabytes for every object.
type large struct{ storage.Store }

func (l large) Stat(ctx context.Context, ref storage.Ref) (storage.Object, error) {
	o, err := l.Store.Stat(ctx, ref)
	o.Size = 2 << 30
	return o, err
}
