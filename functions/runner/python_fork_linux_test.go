package runner_test

import (
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
)

func TestATFXModuleThatMisbehavesInAForkHarmsNobodyElse(t *testing.T) {
	t.Parallel()
	host := warmRunner(t, runner.WarmFork)
	server := serverOf(t, host)
	t.Run("modules", func(t *testing.T) {
		for _, m := range misbehaviours() {
			t.Run(m.name, func(t *testing.T) {
				t.Parallel()
				m.check(t, host)
			})
		}
	})
	if after := serverOf(t, host); after != server {
		t.Errorf("the jobs after them are forked from process %d, those before from %d", after, server)
	}
}

func TestATFXModuleThatMisbehavesInAnIdleProcessHarmsNobodyElse(t *testing.T) {
	t.Parallel()
	host := warmRunner(t, runner.WarmIdle)
	for _, m := range misbehaviours() {
		t.Run(m.name, func(t *testing.T) {
			t.Parallel()
			m.check(t, host)
		})
	}
}

// serverOf is the number of the process that a host's jobs are forked from.
func serverOf(t *testing.T, host *runner.Runner) int {
	t.Helper()
	return told[int](t, host, "told = os.getppid()")
}

// A daemon that runs no program shows the environment of the process that its job was forked from, were that not written over.
func TestADaemonOfAForkedModuleIsEnded(t *testing.T) {
	t.Parallel()
	host := warmRunner(t, runner.WarmFork)
	server := serverOf(t, host)
	file := filepath.Join(t.TempDir(), "pid")
	told[any](t, host, fmt.Sprintf(`
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
told = None`, file))
	waitUntilGone(t, file)
	if after := serverOf(t, host); after != server {
		t.Error("the process that modules are forked from was ended with it")
	}
}

func TestWhatAForkedModuleLeaksIsNotTheNextOnes(t *testing.T) {
	t.Parallel()
	host := warmRunner(t, runner.WarmFork)
	server := serverOf(t, host)
	a := pythonAssignment(t, fmt.Sprintf(tells, `kept = globals()["kept"] = [bytearray(b"x" * 10_000_000) for _ in range(200)]; told = 1`))
	outcome, err := host.Run(t.Context(), a, runner.Limits{MemoryBytes: 3 << 30}, nil)
	if err != nil || outcome.MaxRSSBytes < 2e9 {
		t.Errorf("%d bytes, error %v", outcome.MaxRSSBytes, err)
	}
	a = pythonAssignment(t, fmt.Sprintf(tells, "told = 1"))
	outcome, err = host.Run(t.Context(), a, runner.Limits{}, nil)
	if err != nil || outcome.MaxRSSBytes > 200e6 {
		t.Errorf("the next one has %d bytes, error %v", outcome.MaxRSSBytes, err)
	}
	if serverOf(t, host) != server {
		t.Error("it was not forked from the same process")
	}
}

func TestAJobWhoseWarmProcessIsKilledCrashesAndTheNextOneRuns(t *testing.T) {
	t.Parallel()
	host := warmRunner(t, runner.WarmFork)
	server := serverOf(t, host)
	for victim, number := range map[string]string{"the job's": "os.getpid()", "the one that it was forked from": "os.getppid()"} {
		a := pythonAssignment(t, "import os, stoker, time\n\ndef run_fn(fn_args):\n    stoker.report("+number+")\n    time.sleep(600)\n")
		_, err := host.Run(t.Context(), a, runner.Limits{}, func(m module.Message) {
			if err := syscall.Kill(m.Step, syscall.SIGKILL); err != nil {
				t.Error(err)
			}
		})
		if failed, ok := errors.AsType[*runner.Error](err); !ok || failed.Kind != runner.KindCrash {
			t.Errorf("%s: %v", victim, err)
		}
		if next := serverOf(t, host); (next == server) != (victim == "the job's") {
			t.Errorf("%s: the next job is forked from process %d, before it was %d", victim, next, server)
		}
		server = serverOf(t, host)
	}
}

// Nothing of a host that was killed goes on: not the process that modules are forked from, not its children.
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
	host := startRunner(t, a.Module.Path, file, "STOKER_PYTHON="+tftest.Python(t), "STOKER_PRELOAD=")
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	kill(host)
	for field := range strings.FieldsSeq(string(text)) {
		one := filepath.Join(t.TempDir(), "pid")
		if err := os.WriteFile(one, []byte(field), 0o600); err != nil {
			t.Fatal(err)
		}
		waitUntilGone(t, one)
	}
}
