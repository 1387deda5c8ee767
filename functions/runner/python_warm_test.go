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
	"github.com/stoker-ml/stoker/functions/runner"
)

// warmRunner keeps processes ready that import nothing: what they are to each other doesn't hang on TensorFlow.
func warmRunner(t *testing.T, way string) *runner.Runner {
	t.Helper()
	return runnerOf(t, runner.Options{Warm: 1, PythonWarm: way, Env: []string{"STOKER_PRELOAD="}})
}

func runnerOf(t *testing.T, opts runner.Options) *runner.Runner {
	t.Helper()
	opts.Python, opts.CacheDir = tftest.Python(t), t.TempDir()
	host, err := runner.New(opts)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(host.Close)
	return host
}

// warmWays runs a test with each way to keep a process warm that this machine has.
func warmWays(t *testing.T, test func(t *testing.T, host *runner.Runner)) {
	t.Parallel()
	for _, way := range runner.Warmth() {
		t.Run(way, func(t *testing.T) {
			t.Parallel()
			test(t, warmRunner(t, way))
		})
	}
}

// tells is the head of a module that leaves a model with a JSON value in it: what the body binds to told.
const tells = `
import json, os, sys

def run_fn(fn_args):
    %s
    os.makedirs(fn_args.serving_model_dir)
    with open(os.path.join(fn_args.serving_model_dir, "told"), "w") as file:
        json.dump(told, file)
`

// told runs a module of that kind, and reads what it told.
func told[T any](t *testing.T, host *runner.Runner, body string) (value T) {
	t.Helper()
	a := pythonAssignment(t, fmt.Sprintf(tells, strings.ReplaceAll(body, "\n", "\n    ")))
	outcome, err := host.Run(t.Context(), a, runner.Limits{}, nil)
	if err != nil {
		t.Fatal(err, outcome.LogTail)
	}
	text, err := os.ReadFile(filepath.Join(a.ServingModelDir, "told"))
	if err == nil {
		err = json.Unmarshal(text, &value)
	}
	if err != nil {
		t.Fatal(err)
	}
	return value
}

// A job finds its process as if it were the first: what the one before did to its own is not there.
func TestOneJobsProcessIsNotAnothers(t *testing.T) {
	t.Parallel()
	const look = `told = {
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
os.umask(0o22); told = os.getpid()`
	seen := map[string]string{}
	for _, way := range runner.Warmth() {
		host := warmRunner(t, way)
		told[int](t, host, change)
		text, err := json.Marshal(told[map[string]any](t, host, look))
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
		command := told[string](t, warmRunner(t, way), `told = open("/proc/self/cmdline").read()`)
		if !strings.HasSuffix(command, "\x00"+mode+"\x00") {
			t.Errorf("%s works in %q", way, command)
		}
	}
}

// Each job begins with its seed, whatever was drawn before it in the process that it comes from.
func TestEveryJobBeginsWithItsSeed(t *testing.T) {
	warmWays(t, func(t *testing.T, host *runner.Runner) {
		draw := func() float64 { return told[float64](t, host, "import random; told = random.random()") }
		if a, b, c := draw(), draw(), draw(); a != b || b != c {
			t.Errorf("drawn with one seed are %v %v %v", a, b, c)
		}
	})
}

func TestJobsAtOnceHaveAProcessEach(t *testing.T) {
	warmWays(t, func(t *testing.T, host *runner.Runner) {
		var jobs sync.WaitGroup
		pids := make([]int, 6)
		for i := range pids {
			jobs.Go(func() { pids[i] = told[int](t, host, "import time; time.sleep(0.2); told = os.getpid()") })
		}
		jobs.Wait()
		slices.Sort(pids)
		if distinct := slices.Compact(pids); len(distinct) != 6 {
			t.Errorf("the processes are %v", pids)
		}
	})
}

func TestAJobThatIsStoppedWaitsForNoWarmProcess(t *testing.T) {
	warmWays(t, func(t *testing.T, host *runner.Runner) {
		ctx, stop := context.WithCancelCause(t.Context())
		stop(errPreempted)
		_, err := host.Run(ctx, pythonAssignment(t, fmt.Sprintf(tells, "told = 1")), runner.Limits{}, nil)
		if failed, ok := errors.AsType[*runner.Error](err); !ok || failed.Kind != runner.KindStopped {
			t.Error(err)
		}
	})
}

func TestAWordForWarmProcessesThatThereIsNot(t *testing.T) {
	t.Parallel()
	_, err := runner.New(runner.Options{Warm: 1, PythonWarm: "hot"})
	if err == nil || !strings.Contains(err.Error(), "fork, idle, off") {
		t.Error(err)
	}
}
