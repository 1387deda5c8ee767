package train_test

import (
	"fmt"
	"math"
	"os"
	"path/filepath"
	"testing"

	"github.com/stoker-ml/stoker/compute/nn"
	"github.com/stoker-ml/stoker/compute/nn/optim"
	"github.com/stoker-ml/stoker/compute/train"
)

// testdata/checkpoints has, for each optimizer of that time, the checkpoints that commit b07a421,
// the last one before plans and kernels, wrote for model on endless with seed 7: after step 10 and
// after step 20. A training that was interrupted by an update resumes from the first, and reaches
// the result of that version except for the last bits.
func TestACheckpointOfAnEarlierVersionIsResumed(t *testing.T) {
	t.Parallel()
	for _, name := range []string{"sgd", "momentum", "adam", "adagrad", "ftrl", "parts"} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			then := goOn(t, name, 20)
			now := goOn(t, name, 10)
			for i, w := range then.Weights() {
				if math.Abs(float64(w-now.Weights()[i])) > 1e-6 { // some steps with some 1e-7 each
					t.Errorf("weight %d: %v behind ten more steps, that version has %v", i, now.Weights()[i], w)
				}
			}
		})
	}
}

// goOn returns the result of 20 steps that resume from the golden checkpoint of a step.
func goOn(t *testing.T, name string, step int) *nn.Model {
	t.Helper()
	file := fmt.Sprintf("step-%d.ckpt", step)
	data, err := os.ReadFile(filepath.Join("testdata", "checkpoints", name, file))
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, file), data, 0o600); err != nil {
		t.Fatal(err)
	}
	m := model(t, nn.SoftmaxCrossEntropy{}, 3)
	o := options(20)
	o.Optimizer = optimizerCalled(t, name, m)
	o.Checkpoints = train.Checkpoints{Dir: dir, Seed: 7}
	result, err := train.Run(t.Context(), o, m, endless(), nil)
	if err != nil || result.Resumed != step {
		t.Fatalf("resumed from step %d, expected %d: %v", result.Resumed, step, err)
	}
	return m
}

// optimizerCalled returns an optimizer by name; "parts" is FTRL for the hidden layer and Adam for
// the rest.
func optimizerCalled(t *testing.T, name string, m *nn.Model) optim.Optimizer {
	t.Helper()
	called := func(name string, rate float64) optim.Optimizer {
		o, err := optim.New(name, rate)
		if err != nil {
			t.Fatal(err)
		}
		return o
	}
	if name != "parts" {
		return called(name, 0.01)
	}
	o, err := optim.NewParts(m.Trainable(), optim.Part{Prefix: "", Optimizer: called("adam", 0.01)}, optim.Part{Prefix: "hidden/", Optimizer: called("ftrl", 0.05)})
	if err != nil {
		t.Fatal(err)
	}
	return o
}
