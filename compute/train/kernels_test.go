package train_test

import (
	"bytes"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stoker-ml/stoker/compute/nn"
	"github.com/stoker-ml/stoker/compute/train"
)

// resumedLog returns the log of a training that resumes from a checkpoint of step 3, which another
// process with those kernels has written.
func resumedLog(t *testing.T, kernels string) string {
	t.Helper()
	o := options(3)
	o.Checkpoints = train.Checkpoints{Dir: t.TempDir(), Last: true}
	run := func() train.Result {
		result, err := train.Run(t.Context(), o, model(t, nn.SoftmaxCrossEntropy{}, 3), endless(), nil)
		if err != nil {
			t.Fatal(err)
		}
		return result
	}
	run()
	file := filepath.Join(o.Checkpoints.Dir, "step-3.ckpt")
	data, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(file, train.CheckpointOf(t, data, kernels), 0o600); err != nil {
		t.Fatal(err)
	}
	var log bytes.Buffer
	o.Logger = slog.New(slog.NewTextHandler(&log, nil))
	if result := run(); result.Resumed != 3 {
		t.Fatalf("resumed from step %d, expected 3", result.Resumed)
	}
	return log.String()
}

func TestACheckpointOfOtherKernelsIsResumedWithAWarning(t *testing.T) {
	t.Parallel()
	if log := resumedLog(t, nn.KernelSet()); !strings.Contains(log, "step=3") || strings.Contains(log, "last bits") {
		t.Errorf("of this machine: %s", log)
	}
	if log := resumedLog(t, "riscv64"); !strings.Contains(log, "last bits") || !strings.Contains(log, "riscv64") {
		t.Errorf("of another: %s", log)
	}
}
