package runner_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/stoker-ml/stoker/compute/tf/tftest"
	"github.com/stoker-ml/stoker/functions/module"
	"github.com/stoker-ml/stoker/functions/runner"
	"github.com/stoker-ml/stoker/functions/runner/process"
)

func TestATFXModuleThatMisbehavesInAForkHarmsNobodyElse(t *testing.T) {
	t.Parallel()
	r := warmRunner(t, runner.WarmFork)
	server := serverOf(t, r)
	t.Run("modules", func(t *testing.T) {
		for _, m := range misbehaviours() {
			t.Run(m.name, func(t *testing.T) {
				t.Parallel()
				m.check(t, r)
			})
		}
	})
	if after := serverOf(t, r); after != server {
		t.Errorf("the jobs after them are forked from process %d, those before from %d", after, server)
	}
}

func TestATFXModuleThatMisbehavesInAnIdleProcessHarmsNobodyElse(t *testing.T) {
	t.Parallel()
	r := warmRunner(t, runner.WarmIdle)
	for _, m := range misbehaviours() {
		t.Run(m.name, func(t *testing.T) {
			t.Parallel()
			m.check(t, r)
		})
	}
}

// serverOf returns the id of the process that a runner's jobs are forked from.
func serverOf(t *testing.T, r *runner.Runner) int {
	t.Helper()
	return valueOf[int](t, r, "value = os.getppid()")
}

// If it were not overwritten, a daemon that runs no program would show the environment of the
// process that its job was forked from.
func TestADaemonOfAForkedModuleIsEnded(t *testing.T) {
	t.Parallel()
	r := warmRunner(t, runner.WarmFork)
	server := serverOf(t, r)
	file := filepath.Join(t.TempDir(), "pid")
	valueOf[any](t, r, fmt.Sprintf(`
import time
ready, said = os.pipe()
if os.fork() == 0:
    os.setsid()
    if os.fork() == 0:
        with open(%q, "w") as file:
            file.write(str(os.getpid()))
        os.write(said, b"!")
        time.sleep(600)
    os._exit(0)
os.read(ready, 1)
value = None`, file))
	waitUntilGone(t, file)
	if after := serverOf(t, r); after != server {
		t.Error("the process that modules are forked from was ended with it")
	}
}

func TestWhatAForkedModuleLeaksIsNotTheNextOnes(t *testing.T) {
	t.Parallel()
	r := warmRunner(t, runner.WarmFork)
	server := serverOf(t, r)
	a := pythonAssignment(t, fmt.Sprintf(valueModule, `kept = globals()["kept"] = [bytearray(b"x" * 10_000_000) for _ in range(200)]; value = 1`))
	outcome, err := r.Run(t.Context(), a, runner.Limits{MemoryBytes: 3 << 30}, nil)
	if err != nil || outcome.MaxRSSBytes < 2e9 {
		t.Errorf("%d bytes, error %v", outcome.MaxRSSBytes, err)
	}
	a = pythonAssignment(t, fmt.Sprintf(valueModule, "value = 1"))
	outcome, err = r.Run(t.Context(), a, runner.Limits{}, nil)
	if err != nil || outcome.MaxRSSBytes > 200e6 {
		t.Errorf("the next one has %d bytes, error %v", outcome.MaxRSSBytes, err)
	}
	if serverOf(t, r) != server {
		t.Error("it was not forked from the same process")
	}
}

func TestAJobWhoseWarmProcessIsKilledCrashesAndTheNextOneRuns(t *testing.T) {
	t.Parallel()
	r := warmRunner(t, runner.WarmFork)
	server := serverOf(t, r)
	for victim, number := range map[string]string{"the job's": "os.getpid()", "the one that it was forked from": "os.getppid()"} {
		a := pythonAssignment(t, "import os, stoker, time\n\ndef run_fn(fn_args):\n    stoker.report("+number+")\n    time.sleep(600)\n")
		_, err := r.Run(t.Context(), a, runner.Limits{}, func(m module.Message) {
			if err := syscall.Kill(m.Step, syscall.SIGKILL); err != nil {
				t.Error(err)
			}
		})
		if failed, ok := errors.AsType[*runner.Error](err); !ok || failed.Kind != runner.KindCrash {
			t.Errorf("%s: %v", victim, err)
		}
		if next := serverOf(t, r); (next == server) != (victim == "the job's") {
			t.Errorf("%s: the next job is forked from process %d, before it was %d", victim, next, server)
		}
		server = serverOf(t, r)
	}
}

// No process of a worker that was killed continues: neither the fork server nor its children.
func TestAKilledHostTakesItsForkedModulesAlong(t *testing.T) {
	t.Parallel()
	file := filepath.Join(t.TempDir(), "pids")
	a := pythonAssignment(t, fmt.Sprintf(`
import os, stoker, time

def run_fn(fn_args):
    with open(%q, "w") as file:
        print(os.getpid(), os.getppid(), file=file)
    stoker.report(1)
    time.sleep(600)
`, file))
	r := startRunner(t, a.Module.Path, file, "STOKER_PYTHON="+tftest.Python(t), "STOKER_PRELOAD=")
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	kill(r)
	for field := range strings.FieldsSeq(string(text)) {
		one := filepath.Join(t.TempDir(), "pid")
		if err := os.WriteFile(one, []byte(field), 0o600); err != nil {
			t.Fatal(err)
		}
		waitUntilGone(t, one)
	}
}

// draws is a TFX module that uses what hangs in a process that was forked too late: eager ops, a
// function, a data set, Keras, a strategy and a model. Its value is its parent, and the random
// numbers that it has drawn.
const draws = `
import json, os, random, sys, tempfile
import numpy, tensorflow as tf

def run_fn(fn_args):
    with tf.distribute.MirroredStrategy().scope():
        layer = tf.keras.layers.Dense(1)
        trained = tf.keras.Sequential([layer])
        trained.build((None, 1))
        trained.compile(loss="mse")
    numbers = [random.random(), numpy.random.rand(), float(tf.random.uniform([])), float(layer.kernel.numpy()[0, 0])]
    assert sum(int(x) for x in tf.data.Dataset.range(10).map(lambda x: x * 2, num_parallel_calls=2)) == 90
    trained.fit(tf.data.Dataset.from_tensors(([[1.0]], [[2.0]])).repeat(), steps_per_epoch=3, epochs=2, verbose=0)
    model = tf.Module()
    model.layer = layer
    model.serve = tf.function(layer, input_signature=[tf.TensorSpec([None, 1], tf.float32)])
    tf.saved_model.save(model, fn_args.serving_model_dir, signatures={"serving_default": model.serve})
    home = os.environ["HOME"]
    homes = home[:home.rindex("-") + 1]
    strange = [f"{name}.{key}" for name, module in list(sys.modules.items()) for key, value in list(getattr(module, "__dict__", {}).items())
               if isinstance(value, str) and homes in value and home not in value and value != homes]
    assert tempfile.gettempdir() == os.getcwd() == os.environ["HOME"], tempfile.gettempdir()
    with open(os.path.join(fn_args.serving_model_dir, "value"), "w") as file:
        json.dump({"numbers": numbers, "server": os.getppid(), "strange": strange, "keras": "2" if "tf_keras" in type(layer).__module__ else "3",
                   "mode": open("/proc/self/cmdline").read().split("\0")[-2]}, file)
`

// drawn is the report of such a module.
type drawn struct {
	Numbers     []float64
	Server      int
	Keras, Mode string
	Strange     []string // variables that contain the home of the process that it was forked from

	steps int // steps of fit that were reported
}

func draw(t *testing.T, r *runner.Runner, keras string, seed int64) (d drawn) {
	t.Helper()
	a := pythonAssignment(t, draws)
	a.Module.Keras, a.Seed = keras, seed
	outcome, err := r.Run(t.Context(), a, runner.Limits{}, func(m module.Message) { d.steps = max(d.steps, m.Step) })
	if err != nil {
		t.Fatal(err, outcome.LogTail)
	}
	text, err := os.ReadFile(filepath.Join(a.ServingModelDir, "value"))
	if err == nil {
		err = json.Unmarshal(text, &d)
	}
	if err != nil {
		t.Fatal(err)
	}
	return d
}

func TestForkedTFXModulesRunTensorFlowEachByItself(t *testing.T) {
	t.Parallel()
	checkForks(t, module.Keras3)
}

func checkForks(t *testing.T, keras string) {
	t.Helper()
	r := runnerOf(t, runner.Options{Warm: 1, PythonWarm: runner.WarmFork})
	first, second := draw(t, r, keras, 1), draw(t, r, keras, 2)
	if first.Mode != "fork" || second.Mode != "fork" || first.Server != second.Server || first.Keras != keras {
		t.Errorf("forked from one process with Keras %s are\n%+v\n%+v", keras, first, second)
	}
	if len(second.Strange) > 0 {
		t.Errorf("%v know of the home of the process that imported them", second.Strange)
	}
	if first.steps != 6 || second.steps != 6 {
		t.Errorf("heard of %d and %d steps of 6", first.steps, second.steps)
	}
	for i, x := range first.Numbers {
		if x == second.Numbers[i] {
			t.Errorf("both drew %v as number %d", x, i)
		}
	}
}

// The kernel limits a forked module like any other, and does not limit the process that it was
// forked from.
func TestAForkedModuleHasACgroupOfItsOwn(t *testing.T) {
	t.Parallel()
	parent := cgroupForTest(t)
	r := runnerOf(t, runner.Options{Warm: 1, PythonWarm: runner.WarmFork, Cgroup: parent, Env: []string{"STOKER_PRELOAD="}})
	server := serverOf(t, r)
	a := pythonAssignment(t, fmt.Sprintf(valueModule, `kept = [bytearray(b"x" * 10_000_000) for _ in range(30)]; value = 1`))
	_, err := r.Run(t.Context(), a, bound(100<<20), nil)
	if failed := asError(t, err); failed.Kind != runner.KindResources || !strings.Contains(failed.Error(), "100.0 MiB allowed") {
		t.Errorf("%s: %s", failed.Kind, failed)
	}
	file := filepath.Join(t.TempDir(), "pid")
	valueOf[any](t, r, fmt.Sprintf(`
import subprocess
process = subprocess.Popen(["/bin/sleep", "600"], env={}, start_new_session=True)
open(%q, "w").write(str(process.pid))
value = None`, file))
	waitUntilGone(t, file)
	if after := serverOf(t, r); after != server {
		t.Errorf("the next jobs are forked from process %d, before it was %d", after, server)
	}
	r.Close()
	if left := folders(t, parent); len(left) != 0 {
		t.Errorf("cgroups %q are left", left)
	}
}

// An interpreter that a pipeline names is untrusted from the first question on. This one reports
// that it has TensorFlow if it is not confined as modules are; it checks that a moment after its
// start, when its limits are set.
func TestAnInterpreterThatIsAskedHasNoMoreThanAModule(t *testing.T) {
	t.Parallel()
	network, err := os.Readlink("/proc/self/ns/net")
	if err != nil {
		t.Fatal(err)
	}
	for name, tc := range map[string]struct {
		held string // a shell test
		free bool   // it is confined in that way
		opts process.Confinement
	}{
		"a network":  {fmt.Sprintf(`"$(readlink /proc/self/ns/net)" != %q`, network), process.CanIsolate() != nil, process.Confinement{NoNetwork: process.CanIsolate() == nil}},
		"open files": {`"$(ulimit -n)" = 100`, false, process.Confinement{OpenFiles: 100}},
		"core files": {`"$(ulimit -c)" = 0`, false, process.Confinement{OpenFiles: 100}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			path := filepath.Join(t.TempDir(), "python")
			script := fmt.Sprintf("#!/bin/sh\nsleep 0.3\nhas='\"tensorflow\"'; [ %s ] && has=''\n"+
				"echo '{\"interpreter\": \"%s\", \"version\": \"3.11.7\", \"modules\": ['$has']}'\n", tc.held, path)
			// Otherwise a process that another test starts holds the file open: "text file busy".
			syscall.ForkLock.RLock()
			err := os.WriteFile(path, []byte(script), 0o755)
			syscall.ForkLock.RUnlock()
			if err != nil {
				t.Fatal(err)
			}
			r, err := runner.New(runner.Options{CacheDir: t.TempDir(), Confine: &tc.opts})
			if err != nil {
				t.Fatal(err)
			}
			defer r.Close()
			if got := r.Interpreter(t.Context(), module.Source{Path: "penguin.py", Python: path}); (got != "") != tc.free {
				t.Errorf("it is free of the limit: %t, want %t", got != "", tc.free)
			}
		})
	}
}
