//go:build long

package builtin_test

import (
	"path/filepath"
	"testing"

	"github.com/stoker-ml/stoker/compute/skew"
	"github.com/stoker-ml/stoker/functions/module"
)

// Models that were trained for 250,000 steps, with logits in the hundreds and thousands, answer from their files as from memory but for
// rounding, and are not refused for it.
func TestModelsThatWereTrainedForLongAreNotRefused(t *testing.T) {
	beyond := 0
	for seed := range 50 {
		a := assignment(t, "penguin", true, penguin())
		steps := 250_000
		a.TrainSteps, a.Seed = &steps, int64(seed)
		a.Predictions = &module.Predictions{Path: filepath.Join(t.TempDir(), "predictions"), Rows: 100, LabelsPath: filepath.Join(t.TempDir(), "labels")}
		run(t, "dnn", a)
		r, err := skew.Check(t.Context(), skew.Question{
			Model: a.ServingModelDir, Raw: []string{abs(t, examples, "penguin", "examples", "Split-eval", "*")}, Transformed: a.EvalFiles,
			Predictions: a.Predictions.Path, Labels: []string{"species"}, Rows: skew.DefaultRows, Tolerance: skew.DefaultTolerance,
		})
		if err != nil || r.Rows == 0 || len(r.Differences) > 0 {
			t.Errorf("seed %d: %+v, %v", seed, r, err)
		}
		if r.MaxAbs > skew.DefaultTolerance {
			beyond++
		}
	}
	if beyond < 25 {
		t.Errorf("%d of 50 models answer beyond the tolerance: these are none that rounding shows in", beyond)
	}
}
