package runner

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/stoker-ml/stoker/compute/tf/tftest"
	"github.com/stoker-ml/stoker/functions/module"
	"github.com/stoker-ml/stoker/functions/runner/process"
)

// What hangs because it was forked runs in a process of its own.
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
	host, err := New(Options{Python: tftest.Python(t), CacheDir: t.TempDir(), Warm: 1, PythonWarm: WarmFork, Env: []string{"STOKER_PRELOAD="}})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(host.Close)
	host.warmRules.stuck = time.Second
	return host
}

// runModule runs a TFX module with that run_fn.
func runModule(t *testing.T, host *Runner, body string) (Outcome, error) {
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
	return host.Run(t.Context(), module.Assignment{
		Version: module.ProtocolVersion, Module: module.Source{Path: path}, Call: module.CallTrain, TrainFiles: []string{dir + "/*"},
		WorkingDir: t.TempDir(), ServingModelDir: filepath.Join(dir, "model"),
	}, Limits{}, nil)
}

func TestATFXModuleSeesItsShareOfTheGPUs(t *testing.T) {
	t.Parallel()
	host := impatientRunner(t)
	host.python.gpus = newSharesOf([]string{"3", "5", "6"}, 1)
	outcome, err := runModule(t, host, `
    print("sees", os.environ["CUDA_VISIBLE_DEVICES"])`)
	if err != nil || !strings.Contains(outcome.LogTail, "sees 3,5,6\n") {
		t.Error(err, outcome.LogTail)
	}
}

// A process that shows no life is ended at once: what hangs hears no request to leave.
func TestAProcessWithoutASignOfLifeIsEnded(t *testing.T) {
	t.Parallel()
	p, err := supervisorForTest(t).Start(process.Command{Line: []string{"/bin/sh", "-c", "trap '' TERM; sleep 600 & wait"}})
	if err != nil {
		t.Fatal(err)
	}
	e := &request{process: &child{Process: p}, log: &boundedLog{}, limits: Limits{Grace: time.Hour}, stuckAfter: 200 * time.Millisecond}
	_, _, err = e.run(t.Context())
	if !errors.Is(err, errStuck) || !e.blameless(err) || !errors.Is(syscall.Kill(p.PID(), 0), syscall.ESRCH) {
		t.Error(err)
	}
}
