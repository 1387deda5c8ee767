package train

import (
	"bytes"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stoker-ml/stoker/compute/nn"
	"github.com/stoker-ml/stoker/compute/nn/optim"
)

// resumedLog resumes a training of no steps from a checkpoint of step 3, written where the kernels were others, and returns
// the log.
func resumedLog(t *testing.T, kernels string) string {
	t.Helper()
	b := nn.NewBuilder(nn.NewRand(1))
	logits := b.Dense("logits", b.Input("x", nn.Float32, 2), 1, "")
	g, err := b.Graph()
	if err != nil {
		t.Fatal(err)
	}
	m, err := nn.NewModel(g, logits.Name, nn.MeanSquaredError{})
	if err != nil {
		t.Fatal(err)
	}
	adam, err := optim.New("adam", 0.01)
	if err != nil {
		t.Fatal(err)
	}
	c := Checkpoints{Dir: t.TempDir()}
	h := c.describe(3, m, adam)
	h.Kernels = kernels
	data := encodeCheckpoint(h, m.Weights(), adam.State().Slots, m.Moving())
	if err := os.WriteFile(filepath.Join(c.Dir, "step-3.ckpt"), data, 0o600); err != nil {
		t.Fatal(err)
	}
	var log bytes.Buffer
	o := Options{Optimizer: adam, Checkpoints: c, Logger: slog.New(slog.NewTextHandler(&log, nil))}
	if err := o.check(); err != nil {
		t.Fatal(err)
	}
	found, err := c.load(m, adam)
	if err != nil || found.Step != 3 || found.Kernels != kernels {
		t.Fatalf("%+v, %v", found, err)
	}
	l := loop{Options: o}
	l.resumed(found)
	return log.String()
}

func TestACheckpointOfOtherKernelsIsGoneOnFromAndSaidSo(t *testing.T) {
	t.Parallel()
	if log := resumedLog(t, nn.KernelSet()); !strings.Contains(log, "step=3") || strings.Contains(log, "last bits") {
		t.Errorf("of this machine: %s", log)
	}
	if log := resumedLog(t, "riscv64"); !strings.Contains(log, "last bits") || !strings.Contains(log, "riscv64") {
		t.Errorf("of another: %s", log)
	}
}
