package execution

import (
	"bytes"
	"errors"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"
)

// lay makes a workspace with files, by path, that were written a minute ago.
func lay(t *testing.T, files map[string]string) Workspace {
	t.Helper()
	d := Workspace{dir: t.TempDir()}
	for _, dir := range []string{d.Working(), d.Out(modelRun)} {
		if err := os.MkdirAll(dir, 0o755); err != nil {
			t.Fatal(err)
		}
	}
	past := time.Now().Add(-time.Minute)
	for name, text := range files {
		path := filepath.Join(d.dir, name)
		err := errors.Join(os.MkdirAll(filepath.Dir(path), 0o755), os.WriteFile(path, []byte(text), 0o600), os.Chtimes(path, past, past))
		if err != nil {
			t.Fatal(err)
		}
	}
	return d
}

func filesBelow(t *testing.T, dir string) map[string]string {
	t.Helper()
	found := map[string]string{}
	err := filepath.WalkDir(dir, func(path string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() {
			return err
		}
		text, err := os.ReadFile(path)
		found[strings.TrimPrefix(filepath.ToSlash(path), filepath.ToSlash(dir)+"/")] = string(text)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return found
}

func TestACheckpointOfAllHoldsModelRunToo(t *testing.T) {
	t.Parallel()
	d := lay(t, map[string]string{
		"working/backup/w": "1", "out/model_run/ckpt/state": "2", "out/model_run/events.out.tfevents.1": "3", "out/model/m": "4",
	})
	next := lay(t, nil)
	if err := d.copyAll(next.Working(), selection{}); err != nil {
		t.Fatal(err)
	}
	if err := next.restoreModelRun(); err != nil {
		t.Fatal(err)
	}
	want := map[string]string{"working/backup/w": "1", "out/model_run/ckpt/state": "2", "out/model_run/events.out.tfevents.1": "3"}
	if got := filesBelow(t, next.dir); !maps.Equal(got, want) {
		t.Errorf("laid out: %q", got)
	}
	if entries, err := os.ReadDir(next.Working()); err != nil || len(entries) != 1 {
		t.Errorf("working holds %v, %v", entries, err)
	}
}

func TestACheckpointOfWorkingAloneIsRestoredAsItIs(t *testing.T) {
	t.Parallel()
	d := lay(t, map[string]string{"working/.stoker-like/x": "1", "working/step": "2"})
	if err := d.restoreModelRun(); err != nil {
		t.Fatal(err)
	}
	if got := filesBelow(t, d.dir); len(got) != 2 {
		t.Errorf("laid out: %q", got)
	}
}

func TestAJobWithoutModelRunHasWorkingAlone(t *testing.T) {
	t.Parallel()
	d := lay(t, map[string]string{"working/oracle.json": "{}"})
	if err := os.Remove(d.Out(modelRun)); err != nil {
		t.Fatal(err)
	}
	to := filepath.Join(t.TempDir(), "copy")
	if err := d.copyAll(to, selection{}); err != nil {
		t.Fatal(err)
	}
	if got := filesBelow(t, to); !maps.Equal(got, map[string]string{"oracle.json": "{}"}) {
		t.Errorf("copied: %q", got)
	}
}

// A module writes to a file in place after it was copied; the copy does not change.
func TestNothingIsLinkedThatMayBeWrittenTo(t *testing.T) {
	t.Parallel()
	weights := strings.Repeat("w", copiedBytes+1)
	d, to := lay(t, map[string]string{"working/latest.weights.h5": weights}), filepath.Join(t.TempDir(), "copy")
	if err := d.copyAll(to, selection{}); err != nil {
		t.Fatal(err)
	}
	if err := os.Truncate(filepath.Join(d.Working(), "latest.weights.h5"), 3); err != nil {
		t.Fatal(err)
	}
	if got := filesBelow(t, to)["latest.weights.h5"]; got != weights {
		t.Errorf("the copy has %d bytes", len(got))
	}
}

// A module writes the same text into two files in place, again and again, with pauses. A round
// proves nothing if a busy machine delays the module between the two for longer than copyAll
// pauses: the copy has half of the text then.
func TestACopyIsOfOneMoment(t *testing.T) {
	t.Parallel()
	d := lay(t, map[string]string{"working/a": "0", "out/model_run/b": "0"})
	var writing sync.WaitGroup
	var pair sync.Mutex // held while both files are written
	var heldUp bool
	stop := make(chan struct{})
	writing.Go(func() {
		for n := 1; ; n++ {
			text := bytes.Repeat([]byte(strconv.Itoa(n%10)), 1<<20)
			pair.Lock()
			began := time.Now()
			for _, path := range []string{filepath.Join(d.Working(), "a"), d.Out(modelRun, "b")} {
				if err := os.WriteFile(path, text, 0o600); err != nil {
					t.Error(err)
				}
			}
			heldUp = heldUp || time.Since(began) > copyPause/2
			pair.Unlock()
			select {
			case <-stop:
				return
			case <-time.After(60 * time.Millisecond):
			}
		}
	})
	defer writing.Wait()
	defer close(stop)
	for range 5 {
		to := filepath.Join(t.TempDir(), "copy")
		if err := d.copyAll(to, selection{}); err != nil {
			if !errors.Is(err, errFilesChanged) { // copies may fail so on a busy machine
				t.Fatal(err)
			}
			continue
		}
		got := filesBelow(t, to)
		a, b := got["a"], got[".stoker/model_run/b"]
		pair.Lock()
		if (a != b || a == "" || strings.Trim(a, a[:1]) != "") && !heldUp {
			t.Errorf("%d bytes of %.1s and %d of %.1s", len(a), a, len(b), b)
		}
		heldUp = false
		pair.Unlock()
	}
}

func TestChangesOfFilesAreFound(t *testing.T) {
	t.Parallel()
	lately := time.Now().Add(-time.Second)
	for name, change := range map[string]func(working string) error{
		"a new file":          func(w string) error { return os.WriteFile(filepath.Join(w, "c"), nil, 0o600) },
		"a file written anew": func(w string) error { return os.Chtimes(filepath.Join(w, "a"), lately, lately) },
		"a file that grew":    func(w string) error { return os.Truncate(filepath.Join(w, "a"), 1) },
		"another file":        func(w string) error { return os.Rename(filepath.Join(w, "b"), filepath.Join(w, "a")) },
		"a file that is gone": func(w string) error { return os.Remove(filepath.Join(w, "a")) },
	} {
		d := lay(t, map[string]string{"working/a": "", "working/b": ""})
		was, err := d.state(selection{})
		if err != nil || was.differs(was) != "" || was.youngerThan(copyPause) != "" || was.youngerThan(time.Hour) == "" {
			t.Fatalf("%v, %v", was, err)
		}
		if err := change(d.Working()); err != nil {
			t.Fatal(err)
		}
		now, err := d.state(selection{})
		if err != nil || now.differs(was) == "" {
			t.Errorf("%s is no change, %v", name, err)
		}
	}
}
