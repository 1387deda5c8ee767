package runner

import (
	"errors"
	"fmt"
	"io"
	"log/slog"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/stoker-ml/stoker/compute/tf/tftest"
	"github.com/stoker-ml/stoker/functions/module"
	"github.com/stoker-ml/stoker/functions/runner/process"
	"github.com/stoker-ml/stoker/functions/runner/process/processtest"
	"github.com/stoker-ml/stoker/functions/runner/python"
)

func TestServer(t *testing.T) { processtest.Serve(t) }

func TestJobsAtOnceWaitForTheImportsOfOne(t *testing.T) {
	t.Parallel()
	pool, started := fakePool(t, processtest.Serves, usualWarmRules())
	processes := make([]*child, 5)
	var jobs sync.WaitGroup
	for i := range processes {
		jobs.Go(func() { processes[i] = fork(t, pool) })
	}
	jobs.Wait()
	pids := map[int]bool{}
	for _, p := range processes {
		pids[p.PID()] = true
		p.End()
	}
	if len(pids) != 5 || started.Load() != 1 {
		t.Errorf("%d processes of %d servers", len(pids), started.Load())
	}
}

func TestAServerThatNobodyUsesIsEnded(t *testing.T) {
	t.Parallel()
	rules := usualWarmRules()
	rules.idle = 50 * time.Millisecond
	pool, started := fakePool(t, processtest.Serves, rules)
	p := fork(t, pool)
	server := theServer(t, pool)
	time.Sleep(4 * rules.idle)
	if server.Dead() {
		t.Fatal("a server with a child at work was ended")
	}
	p.End()
	<-server.Exited()
	fork(t, pool).End()
	if n := started.Load(); n != 2 {
		t.Errorf("%d servers", n)
	}
}

func TestAServerThatHasForkedEnoughIsReplacedAndLivesUntilItsChildrenEnd(t *testing.T) {
	t.Parallel()
	rules := usualWarmRules()
	rules.most = 2
	pool, started := fakePool(t, processtest.Serves, rules)
	first, second := fork(t, pool), fork(t, pool)
	old := theServer(t, pool)
	third := fork(t, pool)
	defer third.End()
	if started.Load() != 2 || theServer(t, pool) == old || old.Dead() {
		t.Errorf("%d servers; the old one is dead: %v", started.Load(), old.Dead())
	}
	first.End()
	if old.Dead() {
		t.Error("it was ended before its last child")
	}
	second.End()
	<-old.Exited()
}

func TestAServerThatCanForkNoMoreIsReplaced(t *testing.T) {
	t.Parallel()
	pool, started := fakePool(t, processtest.ServesOnce, usualWarmRules())
	defer fork(t, pool).End()
	if p, err := pool.take(t.Context(), pythonKind{}); err == nil || !strings.Contains(err.Error(), "the weather") {
		t.Errorf("process %v, error %v", p, err)
	}
	fork(t, pool).End()
	if n := started.Load(); n != 2 {
		t.Errorf("%d servers", n)
	}
}

// Otherwise each job would import twice, once in vain.
func TestAServerThatWasNeverOfUseIsNotReplacedByEveryJob(t *testing.T) {
	t.Parallel()
	for do, says := range map[string]string{processtest.Fails: "no module named tensorflow", processtest.Refuses: "the weather"} {
		pool, started := fakePool(t, do, usualWarmRules())
		for range 3 {
			if _, err := pool.take(t.Context(), pythonKind{}); err == nil || !strings.Contains(err.Error(), says) {
				t.Errorf("%s: %v", do, err)
			}
		}
		if n := started.Load(); n != 1 {
			t.Errorf("%s: %d servers", do, n)
		}
		pool.rules.retry = 0
		_, _ = pool.take(t.Context(), pythonKind{})
		if n := started.Load(); n != 2 {
			t.Errorf("%s: %d servers when it was time to try again", do, n)
		}
	}
}

func TestAJobWaitsForImportsNoLongerThanItMay(t *testing.T) {
	t.Parallel()
	rules := usualWarmRules()
	rules.patience = 50 * time.Millisecond
	pool, started := fakePool(t, processtest.Dawdles, rules)
	for range 2 {
		if _, err := pool.take(t.Context(), pythonKind{}); !errors.Is(err, errNotReady) {
			t.Error(err)
		}
	}
	if n := started.Load(); n != 1 || theServer(t, pool).Dead() {
		t.Errorf("%d servers, which import no more", n)
	}
}

func TestTheJobAfterAKilledServerHasAnother(t *testing.T) {
	t.Parallel()
	pool, started := fakePool(t, processtest.Serves, usualWarmRules())
	p := fork(t, pool)
	theServer(t, pool).Signal(syscall.SIGKILL)
	<-p.Exited()
	<-theServer(t, pool).Exited()
	p.End()
	fork(t, pool).End()
	if n := started.Load(); n != 2 {
		t.Errorf("%d servers", n)
	}
}

func TestClosingEndsForkServers(t *testing.T) {
	t.Parallel()
	pool, _ := fakePool(t, processtest.Serves, usualWarmRules())
	fork(t, pool).End()
	server := theServer(t, pool)
	pool.close()
	if !server.Dead() {
		t.Error("the server goes on")
	}
	if _, err := pool.take(t.Context(), pythonKind{}); err == nil {
		t.Error("a closed pool forks")
	}
}

func TestKindsHaveServersOfTheirOwn(t *testing.T) {
	t.Parallel()
	pool, started := fakePool(t, processtest.Serves, usualWarmRules())
	for _, kind := range []pythonKind{
		{}, {env: []string{"TF_USE_LEGACY_KERAS=1"}}, {environment: python.Environment{Digest: "sha256:01"}}, {},
	} {
		p, err := pool.take(t.Context(), kind)
		if err != nil {
			t.Fatal(err)
		}
		p.End()
	}
	if n := started.Load(); n != 3 {
		t.Errorf("%d servers for 3 kinds", n)
	}
}

// fakePool has servers of this test binary, and counts how many were started.
func fakePool(t *testing.T, do string, rules warmRules) (*forkPool, *atomic.Int64) {
	t.Helper()
	var started atomic.Int64
	place := supervisorForTest(t)
	pool := &forkPool{
		start: func(pythonKind) (*process.ForkServer, error) {
			started.Add(1)
			line, env := processtest.Command(t, do)
			return place.StartForkServer(line, env, nil)
		},
		rules: rules, log: slog.New(slog.DiscardHandler), vain: map[string]vain{}, all: map[*forkServer]bool{},
	}
	t.Cleanup(pool.close)
	return pool, &started
}

func fork(t *testing.T, pool *forkPool) *child {
	t.Helper()
	p, err := pool.take(t.Context(), pythonKind{})
	if err != nil {
		t.Error(err)
	}
	return p
}

// theServer returns the server that forks now.
func theServer(t *testing.T, pool *forkPool) *forkServer {
	t.Helper()
	pool.mu.Lock()
	defer pool.mu.Unlock()
	for s := range pool.all {
		if !s.retired {
			return s
		}
	}
	t.Fatal("no server")
	return nil
}

func TestAnIdleProcessThatIsNotAsItWasIsNotTaken(t *testing.T) {
	t.Parallel()
	for name, change := range map[string]func(t *testing.T, p *child){
		"it has left":                  func(_ *testing.T, p *child) { p.Signal(syscall.SIGKILL); <-p.Exited() },
		"it said something":            sayNow,
		"it is large for the next job": func(_ *testing.T, p *child) { p.handled = 1 },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			pool, _ := catPool(t, 1)
			pool.putBack(take(t, pool))
			idle := pool.idle[0]
			change(t, idle)
			p, err := pool.take(4 << 10)
			if err != nil {
				t.Fatal(err)
			}
			defer p.End()
			if p == idle {
				t.Error("it was taken")
			}
		})
	}
}

// sayNow has a cat print, and returns when the text is in the pipe.
func sayNow(t *testing.T, p *child) {
	t.Helper()
	if _, err := p.Stdin.WriteString("a word\n"); err != nil {
		t.Fatal(err)
	}
	conn, err := p.Output.SyscallConn()
	if err != nil {
		t.Fatal(err)
	}
	for waiting := 0; waiting == 0; time.Sleep(time.Millisecond) {
		if conn.Control(func(fd uintptr) { waiting, err = unix.IoctlGetInt(int(fd), unix.TIOCINQ) }) != nil || err != nil {
			t.Fatal(err)
		}
	}
}

func TestAnAssignmentThatAnIdleProcessNeverReadGoesToAnother(t *testing.T) {
	t.Parallel()
	r, err := New(Options{Builtins: map[string]string{"test": "builtin:test@1"}, Env: []string{"RUNNER_TEST_CHILD=1"}, Warm: 1})
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	gone, err := r.start(program{line: []string{"/bin/true"}}, nil)
	if err != nil {
		t.Fatal(err)
	}
	<-gone.Exited()
	r.warm.fit = func(*child, int64) bool { return true } // the runner notices too late
	gone.idled, r.warm.idle = true, []*child{gone}
	dir := t.TempDir()
	_, err = r.Run(t.Context(), module.Assignment{
		Version: module.ProtocolVersion, Module: module.Source{Path: "builtin:test"}, Call: module.CallTrain, TrainFiles: []string{dir + "/*"},
		ServingModelDir: dir + "/model", CustomConfig: map[string]any{"do": "succeed"},
	}, Limits{}, nil)
	if err != nil || !gone.Dead() {
		t.Errorf("error %v; the idle process was taken: %v", err, gone.Dead())
	}
}

// A module that hangs because it was forked runs in a process of its own.
func TestAForkedModuleThatHangsStartsAgainCold(t *testing.T) {
	t.Parallel()
	outcome, err := runModule(t, impatientRunner(t), `
    if b"fork" in open("/proc/self/cmdline", "rb").read():
        os.makedirs(fn_args.serving_model_dir)
        time.sleep(600)`)
	if err != nil || !strings.Contains(outcome.LogTail, "no sign of life") || !strings.Contains(outcome.LogTail, "ran to its end") {
		t.Error(err, outcome.LogTail)
	}
}

func TestAForkedModuleThatIsAtWorkIsLeftAlone(t *testing.T) {
	t.Parallel()
	for name, body := range map[string]string{
		"it has reported": "stoker.report(1); time.sleep(2)",
		"it prints":       "[(print(i), time.sleep(0.1)) for i in range(20)]",
		"it computes":     "end = time.time() + 2\n    while time.time() < end: pass",
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			outcome, err := runModule(t, impatientRunner(t), "\n    "+body)
			if err != nil || strings.Contains(outcome.LogTail, "no sign of life") {
				t.Error(err, outcome.LogTail)
			}
		})
	}
}

// impatientRunner gives up forked modules after a second.
func impatientRunner(t *testing.T) *Runner {
	t.Helper()
	r, err := New(Options{Python: tftest.Python(t), CacheDir: t.TempDir(), Warm: 1, PythonWarm: WarmFork, Env: []string{"STOKER_PRELOAD="}})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(r.Close)
	r.warmRules.stuck = time.Second
	return r
}

// runModule runs a TFX module with that run_fn.
func runModule(t *testing.T, r *Runner, body string) (Outcome, error) {
	t.Helper()
	dir := t.TempDir()
	path := filepath.Join(dir, "user_module.py")
	const text = `
import os, stoker, time

def run_fn(fn_args):%s
    os.makedirs(fn_args.serving_model_dir)
    print("ran to its end")
`
	if err := os.WriteFile(path, fmt.Appendf(nil, text, body), 0o600); err != nil {
		t.Fatal(err)
	}
	return r.Run(t.Context(), module.Assignment{
		Version: module.ProtocolVersion, Module: module.Source{Path: path}, Call: module.CallTrain, TrainFiles: []string{dir + "/*"},
		WorkingDir: t.TempDir(), ServingModelDir: filepath.Join(dir, "model"),
	}, Limits{}, nil)
}

func TestATFXModuleSeesItsShareOfTheGPUs(t *testing.T) {
	t.Parallel()
	r := impatientRunner(t)
	r.python.gpus = newSharesOf([]string{"3", "5", "6"}, 1)
	outcome, err := runModule(t, r, `
    print("sees", os.environ["CUDA_VISIBLE_DEVICES"])`)
	if err != nil || !strings.Contains(outcome.LogTail, "sees 3,5,6\n") {
		t.Error(err, outcome.LogTail)
	}
}

// A process without a sign of life is killed at once, because a process that hangs ignores a
// request to stop.
func TestAProcessWithoutASignOfLifeIsEnded(t *testing.T) {
	t.Parallel()
	p, err := supervisorForTest(t).Start(process.Command{Line: []string{"/bin/sh", "-c", "trap '' TERM; sleep 600 & wait"}})
	if err != nil {
		t.Fatal(err)
	}
	q := request{log: &boundedLog{}, limits: Limits{Grace: time.Hour}}
	x := &exchange{request: q, process: &child{Process: p}, stuckAfter: 200 * time.Millisecond}
	_, err = x.runOnce(t.Context())
	if !errors.Is(err, errStuck) || !x.blameless(err) || !errors.Is(syscall.Kill(p.PID(), 0), syscall.ESRCH) {
		t.Error(err)
	}
}

// A module of the same user without a sandbox, or the provider of the program, can replace it at
// any time. A script is executed by its path, by which it finds files next to it that its digest
// does not cover.
func TestAPrebuiltModuleThatIsReplacedAfterItsDigestDoesNotRun(t *testing.T) {
	t.Parallel()
	echo, err := exec.LookPath("echo")
	if err != nil {
		t.Fatal(err)
	}
	binaryText, err := os.ReadFile(echo)
	if err != nil {
		t.Fatal(err)
	}
	for kind, tc := range map[string]struct {
		text []byte
		want string
	}{
		"binary": {binaryText, "original"}, "script": {[]byte("#!/bin/sh\necho \"$@\"\n"), "original"},
	} {
		t.Run(kind, func(t *testing.T) {
			t.Parallel()
			r, err := New(Options{CacheDir: t.TempDir()})
			if err != nil {
				t.Fatal(err)
			}
			defer r.Close()
			path := filepath.Join(t.TempDir(), "module")
			put := func(text []byte) {
				t.Helper()
				// Otherwise a process that another test starts holds the file open: "text file
				// busy".
				syscall.ForkLock.RLock()
				err := os.WriteFile(path+".new", text, 0o755)
				syscall.ForkLock.RUnlock()
				if err == nil {
					err = os.Rename(path+".new", path)
				}
				if err != nil {
					t.Fatal(err)
				}
			}
			put(tc.text)
			digest, err := r.files.of(path)
			if err != nil {
				t.Fatal(err)
			}
			p, err := r.program(t.Context(), code{kind: binary, path: path})
			if err != nil {
				t.Fatal(err)
			}
			defer p.close()
			put([]byte("#!/bin/sh\necho replaced\n"))
			p.line = append(p.line, "original")
			c, err := r.start(p, r.env)
			if err != nil {
				t.Fatal(err)
			}
			defer c.End()
			// Far off: so that a red test ends.
			if err := c.Output.SetReadDeadline(time.Now().Add(8 * time.Minute)); err != nil {
				t.Fatal(err)
			}
			if said, err := io.ReadAll(c.Output); strings.TrimSpace(string(said)) != tc.want || c.digest != digest {
				t.Errorf("it says %q, %v, and is known as %s; want %s, digest %s", said, err, c.digest, tc.want, digest)
			}
		})
	}
}
