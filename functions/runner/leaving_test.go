package runner_test

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"testing"

	"github.com/stoker-ml/stoker/compute/tf/tftest"
	"github.com/stoker-ml/stoker/functions/module"
	"github.com/stoker-ml/stoker/functions/runner"
)

// loops is a TFX module with a loop of its own.
const loops = `
import os, time
import stoker

def run_fn(fn_args):
    step = 0
    while not stoker.stopping():
        step += 1
        stoker.report(step, {"loss": 1 / step})
        time.sleep(0.01)
    with open(os.path.join(fn_args.model_run_dir, "state"), "w") as file:
        file.write(str(step))
`

func TestATFXModuleThatIsAskedToLeaveKeepsWhatItHas(t *testing.T) {
	t.Parallel()
	host, err := runner.New(runner.Options{Python: tftest.Python(t), CacheDir: t.TempDir()})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(host.Close)
	a := pythonAssignment(t, loops)
	a.Module.Keras = module.Keras3
	ctx, cancel := context.WithCancelCause(t.Context())
	preempted := errors.New("preempted")
	var kept module.Message
	outcome, err := host.Run(ctx, a, runner.Limits{}, func(m module.Message) {
		cancel(preempted)
		if m.Type == module.MessageCheckpoint {
			kept = m
		}
	})
	if failed := asError(t, err); failed.Kind != runner.KindStopped || !errors.Is(err, preempted) {
		t.Errorf("%s: %v\n%s", failed.Kind, err, outcome.LogTail)
	}
	state, err := os.ReadFile(filepath.Join(a.ModelRunDir, "state"))
	if err != nil || kept.Step == 0 || !kept.All {
		t.Errorf("checkpoint %+v, state %q, %v\n%s", kept, state, err, outcome.LogTail)
	}
}
