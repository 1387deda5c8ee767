package runner_test

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stoker-ml/stoker/compute/tf/tftest"
	"github.com/stoker-ml/stoker/functions/module"
	"github.com/stoker-ml/stoker/functions/runner"
)

// misbehaving is a TFX module that does what no module should, and how a job of it ends. They import no TensorFlow: what
// they do to a process, they do in a moment.
type misbehaving struct {
	name   string
	body   string // of run_fn
	limits runner.Limits
	stop   bool // the job is stopped once the module says something

	kind   runner.Kind // "": the job is done, as far as the process can tell
	says   string      // in the error
	logged string      // in the end of the log
	bytes  int64       // that the log is long, at least
}

// misbehaviours is the table that every way to start a TFX module has to pass.
func misbehaviours() []misbehaving {
	return []misbehaving{
		{name: "raises", body: `raise ValueError("the labels are all the same")`,
			kind: runner.KindModule, says: "ValueError: the labels are all the same", logged: "in run_fn\n    raise ValueError"},
		{name: "raises what can't be printed", body: `raise type("Odd", (Exception,), {"__str__": lambda self: 1 / 0})()`,
			kind: runner.KindModule, says: "Odd"},
		{name: "raises a message of 1 MB", body: `raise ValueError("loud " * 200_000)`, kind: runner.KindModule, says: "ValueError: loud"},
		{name: "leaves with 0", body: `import sys; sys.exit(0)`, kind: runner.KindModule, says: "sys.exit(0)"},
		{name: "leaves with 3", body: `import sys; sys.exit(3)`, kind: runner.KindModule, says: "sys.exit(3)"},
		{name: "is gone with 0", body: `os._exit(0)`, kind: runner.KindModule, says: "left without saying that it was done"},
		{name: "is gone with 3", body: `os._exit(3)`, kind: runner.KindModule, says: "left with exit status 3"},
		{name: "reads a null pointer", body: `print("reading"); import ctypes; ctypes.string_at(0)`,
			kind: runner.KindCrash, says: "ended by signal 11", logged: "reading\n"},
		{name: "aborts", body: `print("aborting"); os.abort()`, kind: runner.KindCrash, says: "ended by signal 6", logged: "aborting\n"},
		{name: "is killed", body: `os.kill(os.getpid(), 9)`, kind: runner.KindCrash, says: "killed by someone else"},
		{name: "forks a child that outlives it", body: forks},
		{name: "leaks 2 GB", body: leaks, limits: runner.Limits{MemoryBytes: 300 << 20},
			kind: runner.KindResources, says: "300.0 MiB allowed"},
		{name: "ignores SIGTERM", body: ignores, stop: true, limits: runner.Limits{Grace: 50 * time.Millisecond},
			kind: runner.KindStopped, says: "preempted"},
		{name: "takes SIGTERM for itself", body: swallows, stop: true, limits: runner.Limits{Grace: 50 * time.Millisecond},
			kind: runner.KindStopped, says: "preempted"},
		{name: "never ends", body: "while True: pass", limits: runner.Limits{Timeout: time.Second, Grace: 100 * time.Millisecond},
			kind: runner.KindResources, says: "ran longer than 1s"},
		{name: "prints 100 MB", body: `for _ in range(100): print("x" * 999_999)` + "\nprint('the end')", logged: "the end\n", bytes: 100e6},
		{name: "prints what is no text", body: `os.write(1, bytes(range(256)) * 40); print("\ud800", "the end")`, logged: "the end\n"},
		{name: "writes nothing", body: "pass"},
		{name: "writes an empty model", body: "os.makedirs(fn_args.serving_model_dir)"},
		{name: "leaves threads running", body: threads, limits: runner.Limits{Grace: 300 * time.Millisecond}},
		{name: "needs a package", body: "import no_such_package", kind: runner.KindModule, says: "no_such_package"},
		{name: "closes the progress stream", body: "os.close(progress)", kind: runner.KindModule},
		{name: "writes on the progress stream", body: `os.write(progress, b'garbage\n{"type": 7}\n\xff\n')`,
			logged: `on the progress descriptor: "garbage\n"`},
		{name: "has no end of a line on the progress stream", body: `os.write(progress, b"x" * 200_000)`,
			logged: `on the progress descriptor: "xxxx`},
		{name: "closes its output", body: `os.close(1); os.close(2)`},
		{name: "reads standard input", body: `import sys; print("read:", repr(sys.stdin.read()))`, logged: "read: ''"},
		{name: "removes its working directory", body: `import shutil; shutil.rmtree(os.getcwd())`},
		{name: "recurses", body: "def again(): return again()\nagain()", kind: runner.KindModule, says: "RecursionError"},
		{name: "is interrupted", body: "raise KeyboardInterrupt", kind: runner.KindModule, says: "KeyboardInterrupt"},
	}
}

// What takes more than a line.
const (
	forks = `
if os.fork() == 0:
    os.setsid()
    time.sleep(600)
os.makedirs(fn_args.serving_model_dir)`
	leaks = `
kept = []
for _ in range(200):
    kept.append(bytearray(b"x" * 10_000_000))
    time.sleep(0.002)`
	ignores = `
import signal, stoker
signal.signal(signal.SIGTERM, signal.SIG_IGN)
stoker.report(1)
time.sleep(600)`
	swallows = `
import signal, stoker
signal.signal(signal.SIGTERM, lambda *_: print("no"))
stoker.report(1)
while True: time.sleep(1)`
	threads = `
import threading
threading.Thread(target=time.sleep, args=(600,)).start()`
)

// moduleFile is the text of the module, which knows the number of the progress stream's descriptor.
func (m misbehaving) moduleFile() string {
	const head = `
import os, time

progress = int(os.environ["STOKER_PROGRESS_FD"])

def run_fn(fn_args):
`
	return head + "    " + strings.ReplaceAll(m.body, "\n", "\n    ") + "\n"
}

// check runs the module on a host, and one that behaves after it: nothing of the first may be left.
func (m misbehaving) check(t *testing.T, host *runner.Runner) {
	t.Helper()
	ctx, stop := context.WithCancelCause(t.Context())
	defer stop(nil)
	a := pythonAssignment(t, m.moduleFile())
	outcome, err := host.Run(ctx, a, m.limits, func(module.Message) {
		if m.stop {
			stop(errPreempted)
		}
	})
	tail := outcome.LogTail
	failed, ok := errors.AsType[*runner.Error](err)
	if ok != (m.kind != "") || ok && (failed.Kind != m.kind || !strings.Contains(failed.Error(), m.says)) {
		t.Errorf("ended with %v (%+v), want %q saying %q\n%s", err, failed, m.kind, m.says, tail)
	} else if ok {
		tail = failed.LogTail
		checkBrief(t, failed.Error())
	}
	if !strings.Contains(tail, m.logged) || outcome.LogBytes < m.bytes {
		t.Errorf("the log of %d bytes ends in\n%s\nwant %q in it, and %d bytes", outcome.LogBytes, tail, m.logged, m.bytes)
	}
}

var errPreempted = errors.New("preempted")

// checkBrief says whether an error can be told in an event.
func checkBrief(t *testing.T, message string) {
	t.Helper()
	if len(message) > 64<<10 {
		t.Errorf("the error has %d bytes", len(message))
	}
}

func TestATFXModuleThatMisbehavesHarmsNobodyElse(t *testing.T) {
	t.Parallel()
	host := pythonRunner(t)
	for _, m := range misbehaviours() {
		t.Run(m.name, func(t *testing.T) {
			t.Parallel()
			m.check(t, host)
		})
	}
}

// Among all that, and on the same host.
func TestATFXModuleThatBehavesIsDoneBesideThem(t *testing.T) {
	t.Parallel()
	a := pythonAssignment(t, misbehaving{body: `os.makedirs(fn_args.serving_model_dir); print(os.listdir("."), "is my home")`}.moduleFile())
	outcome, err := pythonRunner(t).Run(t.Context(), a, runner.Limits{}, nil)
	if err != nil || !strings.Contains(outcome.LogTail, "[] is my home") {
		t.Error(err, outcome.LogTail)
	}
	if _, err := os.Stat(filepath.Join(a.ServingModelDir)); err != nil {
		t.Error(err)
	}
}

// pythonRunner runs TFX modules in the environment of the tests.
func pythonRunner(t *testing.T) *runner.Runner {
	t.Helper()
	host, err := runner.New(runner.Options{Python: tftest.Python(t), CacheDir: t.TempDir()})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(host.Close)
	return host
}
