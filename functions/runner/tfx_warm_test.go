package runner_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/stoker-ml/stoker/compute/tf/tftest"
	"github.com/stoker-ml/stoker/functions/module"
	"github.com/stoker-ml/stoker/functions/runner"
	"github.com/stoker-ml/stoker/functions/runner/python"
)

// warmRunner keeps processes ready that import nothing: how they affect each other does not depend
// on TensorFlow.
func warmRunner(t *testing.T, way string) *runner.Runner {
	t.Helper()
	return runnerOf(t, runner.Options{Warm: 1, PythonWarm: way, Env: []string{"STOKER_PRELOAD="}})
}

func runnerOf(t *testing.T, opts runner.Options) *runner.Runner {
	t.Helper()
	opts.Python, opts.CacheDir = tftest.Python(t), t.TempDir()
	r, err := runner.New(opts)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(r.Close)
	return r
}

// warmWays runs a test with each way to keep a process warm that this machine supports.
func warmWays(t *testing.T, test func(t *testing.T, r *runner.Runner)) {
	t.Parallel()
	for _, way := range runner.Warmth() {
		t.Run(way, func(t *testing.T) {
			t.Parallel()
			test(t, warmRunner(t, way))
		})
	}
}

// valueModule is the beginning of a module that leaves a model with a JSON value in it: the one
// that the body assigns to value.
const valueModule = `
import json, os, sys

def run_fn(fn_args):
    %s
    os.makedirs(fn_args.serving_model_dir)
    with open(os.path.join(fn_args.serving_model_dir, "value"), "w") as file:
        json.dump(value, file)
`

// valueOf runs such a module and returns the value.
func valueOf[T any](t *testing.T, r *runner.Runner, body string) (value T) {
	t.Helper()
	a := pythonAssignment(t, fmt.Sprintf(valueModule, strings.ReplaceAll(body, "\n", "\n    ")))
	outcome, err := r.Run(t.Context(), a, runner.Limits{}, nil)
	if err != nil {
		t.Fatal(err, outcome.LogTail)
	}
	text, err := os.ReadFile(filepath.Join(a.ServingModelDir, "value"))
	if err == nil {
		err = json.Unmarshal(text, &value)
	}
	if err != nil {
		t.Fatal(err)
	}
	return value
}

// A job finds its process as if it were the first: changes that the job before made in its own
// process are not there.
func TestOneJobsProcessIsNotAnothers(t *testing.T) {
	t.Parallel()
	const look = `value = {
    "leaked": [os.environ.get("LEAKED"), getattr(json, "leaked", None), [p for p in sys.path if "leaked" in p]],
    "umask": os.umask(0o77), "mask": sorted(__import__("signal").pthread_sigmask(0, [])), "modules": "leaked_module" in sys.modules,
    "handler": str(__import__("signal").getsignal(15)).split(" at ")[0], "limit": __import__("resource").getrlimit(7), "files": os.listdir("."),
    "home": os.getcwd() == os.environ["HOME"] == os.environ["TMPDIR"] == os.environ["STOKER_MODULE"],
    "descriptors": sorted(int(fd) for fd in os.listdir("/proc/self/fd")), "leader": os.getsid(0) == os.getpgid(0) == os.getpid(),
}`
	const change = `
import resource, signal
os.environ["LEAKED"] = "yes"; json.leaked = "yes"; sys.path.insert(0, "/leaked"); sys.modules["leaked_module"] = json
os.umask(0o777); signal.pthread_sigmask(signal.SIG_BLOCK, [signal.SIGUSR1]); signal.signal(15, signal.SIG_IGN)
resource.setrlimit(resource.RLIMIT_NOFILE, (50, 100)); open("left behind", "w").close(); kept = os.open("/dev/null", 0)
os.umask(0o22); value = os.getpid()`
	seen := map[string]string{}
	for _, way := range runner.Warmth() {
		r := warmRunner(t, way)
		valueOf[int](t, r, change)
		text, err := json.Marshal(valueOf[map[string]any](t, r, look))
		if err != nil {
			t.Fatal(err)
		}
		seen[way] = string(text)
	}
	if !strings.Contains(seen[runner.WarmOff], `"leaked":[null,null,[]]`) || !strings.Contains(seen[runner.WarmOff], `"home":true`) || !strings.Contains(seen[runner.WarmOff], `"leader":true`) {
		t.Errorf("a process of its own finds %s", seen[runner.WarmOff])
	}
	for way, text := range seen {
		if text != seen[runner.WarmOff] {
			t.Errorf("%s finds\n%s\na process of its own\n%s", way, text, seen[runner.WarmOff])
		}
	}
}

func TestEachWayIsWhatItSays(t *testing.T) {
	t.Parallel()
	for way, mode := range map[string]string{runner.WarmFork: "fork", runner.WarmIdle: "idle", runner.WarmOff: "job"} {
		command := valueOf[string](t, warmRunner(t, way), `value = open("/proc/self/cmdline").read()`)
		if !strings.HasSuffix(command, "\x00"+mode+"\x00") {
			t.Errorf("%s works in %q", way, command)
		}
	}
}

// Each job begins with its seed, whatever was drawn before in the process that it was forked from.
func TestEveryJobBeginsWithItsSeed(t *testing.T) {
	warmWays(t, func(t *testing.T, r *runner.Runner) {
		draw := func() float64 { return valueOf[float64](t, r, "import random; value = random.random()") }
		if a, b, c := draw(), draw(), draw(); a != b || b != c {
			t.Errorf("drawn with one seed are %v %v %v", a, b, c)
		}
	})
}

func TestJobsAtOnceHaveAProcessEach(t *testing.T) {
	warmWays(t, func(t *testing.T, r *runner.Runner) {
		var jobs sync.WaitGroup
		pids := make([]int, 6)
		for i := range pids {
			jobs.Go(func() { pids[i] = valueOf[int](t, r, "import time; time.sleep(0.2); value = os.getpid()") })
		}
		jobs.Wait()
		slices.Sort(pids)
		if distinct := slices.Compact(pids); len(distinct) != 6 {
			t.Errorf("the processes are %v", pids)
		}
	})
}

func TestAJobThatIsStoppedWaitsForNoWarmProcess(t *testing.T) {
	warmWays(t, func(t *testing.T, r *runner.Runner) {
		ctx, stop := context.WithCancelCause(t.Context())
		stop(errPreempted)
		_, err := r.Run(ctx, pythonAssignment(t, fmt.Sprintf(valueModule, "value = 1")), runner.Limits{}, nil)
		if failed, ok := errors.AsType[*runner.Error](err); !ok || failed.Kind != runner.KindStopped {
			t.Error(err)
		}
	})
}

func TestAnUnknownSettingOfWarmProcesses(t *testing.T) {
	t.Parallel()
	_, err := runner.New(runner.Options{Warm: 1, PythonWarm: "hot"})
	if err == nil || !strings.Contains(err.Error(), "fork, idle, off") {
		t.Error(err)
	}
}

// writesElsewhere is a module that tries to write in the directory of another job, and in the one
// with the homes and module files of all.
const writesElsewhere = `
import os

def run_fn(fn_args):
    for name, folder in (("job", %[1]q), ("homes", os.path.dirname(os.environ["HOME"]))):
        try:
            path = os.path.join(folder, "intruder")
            open(path, "w").close()
            os.remove(path)
            print("write", name, "succeeds")
        except OSError:
            print("write", name, "fails")
    print("mode", open("/proc/self/cmdline").read().split("\0")[-2])
`

// warmJob returns an assignment of a module in a working directory with others, and the directory
// of another job there.
func warmJob(t *testing.T, text string) (a module.Assignment, work string) {
	t.Helper()
	t.Setenv("STOKER_MODULE_WRITE", "")
	work = t.TempDir()
	other, own := filepath.Join(work, "other"), filepath.Join(work, "own")
	if err := os.Mkdir(other, 0o755); err != nil {
		t.Fatal(err)
	}
	a = pythonAssignment(t, fmt.Sprintf(text, other))
	a.WorkingDir, a.ServingModelDir, a.ModelRunDir = own, filepath.Join(own, "model", "Format-Serving"), filepath.Join(own, "logs")
	return a, work
}

// A line of a .pth file runs in every interpreter that sees its package, before the driver does.
// Here it replaces the driver's function that enters the job's sandbox.
func TestRequirementsThatPatchTheDriverReachNoOtherJob(t *testing.T) {
	if !canSandbox(t) {
		return
	}
	interpreter := tftest.Python(t)
	patch := wheelOf(t, [2]string{"patch.pth",
		"import sys, os; exec('try:\\n import stoker_runner.sandbox\\n stoker_runner.sandbox.enter = lambda *_: None\\nexcept ImportError: pass')\n"})
	for _, way := range ways() {
		for allowed, mode := range map[string]string{"": "job", "any": way} {
			if way == runner.WarmOff && allowed != "" {
				continue
			}
			t.Run(way+allowed, func(t *testing.T) {
				t.Setenv("STOKER_MODULE_WARM", allowed)
				a, work := warmJob(t, writesElsewhere)
				a.Module.Requirements = []string{patch}
				r, err := runner.New(runner.Options{Python: interpreter, CacheDir: t.TempDir(), Warm: 1, PythonWarm: way, WorkDir: work,
					Env: []string{"STOKER_PRELOAD="}})
				if err != nil {
					t.Fatal(err)
				}
				defer r.Close()
				outcome, err := r.Run(t.Context(), a, runner.Limits{}, nil)
				if err != nil {
					t.Fatal(err, outcome.LogTail)
				}
				want := map[bool][]string{true: {"write job succeeds", "mode " + mode}, false: {"write job fails", "write homes fails", "mode job"}}
				for _, line := range want[allowed != ""] {
					if !strings.Contains(outcome.LogTail, line+"\n") {
						t.Errorf("want %q in\n%s", line, outcome.LogTail)
					}
				}
			})
		}
	}
}

// Landlock confines the thread that enters a sandbox, and those that it starts afterwards. This
// package starts a thread when it is imported, through which the module writes later.
func TestThreadsStartedByImportsReachNoOtherJob(t *testing.T) {
	if !canSandbox(t) {
		return
	}
	cache := t.TempDir()
	thread := wheelOf(t, [2]string{"helper.py", `
import queue, threading
work, results = queue.Queue(), queue.Queue()

def serve():
    while True:
        try:
            results.put(work.get()())
        except OSError as error:
            results.put(error)

threading.Thread(target=serve, daemon=True).start()
`})
	environment, err := python.Find(t.Context(), python.Options{Named: tftest.Python(t), Requirements: []string{thread}, CacheDir: cache})
	if err != nil {
		t.Fatal(err)
	}
	const text = `
import helper, os

def run_fn(fn_args):
    helper.work.put(lambda: open(os.path.join(%[1]q, "intruder"), "w").close())
    print("write job", "fails" if isinstance(helper.results.get(), OSError) else "succeeds")
    print("mode", open("/proc/self/cmdline").read().split("\0")[-2])
`
	for allowed, want := range map[string]string{"": "write job fails", "any": "mode idle"} {
		t.Run("allowed "+allowed, func(t *testing.T) {
			t.Setenv("STOKER_MODULE_WARM", allowed)
			a, work := warmJob(t, text)
			r, err := runner.New(runner.Options{Python: environment.Interpreter, CacheDir: cache, Warm: 1, PythonWarm: runner.WarmIdle, WorkDir: work,
				Env: []string{"STOKER_PRELOAD=helper"}})
			if err != nil {
				t.Fatal(err)
			}
			defer r.Close()
			for range 2 {
				outcome, err := r.Run(t.Context(), a, runner.Limits{}, nil)
				if err != nil || !strings.Contains(outcome.LogTail, want+"\n") {
					t.Fatalf("want %q in\n%s, %v", want, outcome.LogTail, err)
				}
			}
		})
	}
}

func TestAnUnknownSettingOfWarmCode(t *testing.T) {
	t.Setenv("STOKER_MODULE_WARM", "all")
	if _, err := runner.New(runner.Options{}); err == nil || !strings.Contains(err.Error(), `STOKER_MODULE_WARM is "all": expected worker or any`) {
		t.Error(err)
	}
}
