package runner_test

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stoker-ml/stoker/compute/tf/tftest"
	"github.com/stoker-ml/stoker/functions/module"
	"github.com/stoker-ml/stoker/functions/runner"
	"github.com/stoker-ml/stoker/functions/runner/python"
)

// writesElsewhere is a module that tries to write in the folder of another job, and in the one with the homes and module files of all.
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

// warmJob returns an assignment of a module in a working directory with others, and the folder of another job there.
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

// A line of a .pth file runs in every interpreter that sees its package, before the driver does. Here it replaces the driver's function
// that enters the job's sandbox.
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
				host, err := runner.New(runner.Options{Python: interpreter, CacheDir: t.TempDir(), Warm: 1, PythonWarm: way, WorkDir: work,
					Env: []string{"STOKER_PRELOAD="}})
				if err != nil {
					t.Fatal(err)
				}
				defer host.Close()
				outcome, err := host.Run(t.Context(), a, runner.Limits{}, nil)
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

// Landlock holds the thread that enters a sandbox, and those that it starts afterwards. This package starts a thread when it is imported, by
// which the module writes later.
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
			host, err := runner.New(runner.Options{Python: environment.Interpreter, CacheDir: cache, Warm: 1, PythonWarm: runner.WarmIdle, WorkDir: work,
				Env: []string{"STOKER_PRELOAD=helper"}})
			if err != nil {
				t.Fatal(err)
			}
			defer host.Close()
			for range 2 {
				outcome, err := host.Run(t.Context(), a, runner.Limits{}, nil)
				if err != nil || !strings.Contains(outcome.LogTail, want+"\n") {
					t.Fatalf("want %q in\n%s, %v", want, outcome.LogTail, err)
				}
			}
		})
	}
}

func TestAWordForWarmCodeThatThereIsNot(t *testing.T) {
	t.Setenv("STOKER_MODULE_WARM", "all")
	if _, err := runner.New(runner.Options{}); err == nil || !strings.Contains(err.Error(), `STOKER_MODULE_WARM is "all": expected worker or any`) {
		t.Error(err)
	}
}
