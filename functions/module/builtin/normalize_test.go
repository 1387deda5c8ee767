package builtin_test

import (
	"path/filepath"
	"strings"
	"testing"

	"github.com/stoker-ml/stoker/compute/tf/skew"
	"github.com/stoker-ml/stoker/functions/module"
)

// A model that scales raw numbers by their range gives the same predictions for raw rows, missing
// values included, from its files as in memory.
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

func TestOnlyNumbersThatAreLearntFromAreNormalized(t *testing.T) {
	t.Parallel()
	for want, config := range map[string]map[string]any{
		"custom_config: normalize: no input feature is a number":                                               {"features": []any{"payment_type", "company"}, "normalize": "minmax"},
		`custom_config: normalize: feature "payment_type" is not a numeric input, expected some of fare, trip`: {"normalize": map[string]any{"payment_type": "minmax"}, "features": []any{"payment_type", "fare", "trip_miles"}},
		`custom_config: normalize: there is no feature "fares" to learn from`:                                  {"normalize": map[string]any{"fares": "minmax"}},
		`custom_config: normalize: "tips" is the label`:                                                        {"normalize": map[string]any{"tips": "minmax"}},
	} {
		config["label"] = "tips"
		if err := fail(t, "dnn", assignment(t, "taxi", false, config)); !strings.HasPrefix(err.Error(), want) {
			t.Errorf("got %v, want %s", err, want)
		}
	}
}
