package builtin_test

import (
	"path/filepath"
	"testing"

	"github.com/stoker-ml/stoker/compute/skew"
	"github.com/stoker-ml/stoker/functions/module"
)

// A model that scales raw numbers by their range answers raw rows, missing values included, from its files as it did in memory.
func TestAModelThatNormalizesHasNoSkew(t *testing.T) {
	t.Parallel()
	for _, method := range []string{"minmax", "zscore"} {
		a := assignment(t, "taxi", false, map[string]any{"label": "tips", "normalize": method})
		a.Predictions = &module.Predictions{Path: filepath.Join(t.TempDir(), "predictions"), Rows: skew.DefaultRows, LabelsPath: filepath.Join(t.TempDir(), "labels")}
		run(t, "dnn", a)
		r, err := skew.Check(t.Context(), skew.Question{
			Model: a.ServingModelDir, Raw: a.EvalFiles,
			Predictions: a.Predictions.Path, Labels: []string{"tips"}, Rows: skew.DefaultRows, Tolerance: skew.DefaultTolerance,
		})
		if err != nil {
			t.Fatal(err)
		}
		if len(r.Differences) > 0 || r.Rows == 0 {
			t.Errorf("%s: %+v", method, r)
		}
	}
}

func TestATransformGraphLeavesNothingToNormalize(t *testing.T) {
	t.Parallel()
	a := assignment(t, "penguin", true, map[string]any{"label": "species", "normalize": "minmax"})
	want := "custom_config: normalize: the transform graph says how numbers are scaled; normalize is for raw examples without one"
	if err := fail(t, "dnn", a); err.Error() != want {
		t.Errorf("got %v", err)
	}
}
