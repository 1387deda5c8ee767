//go:build tfma

package builtin_test

import (
	_ "embed"
	"maps"
	"math"
	"path/filepath"
	"testing"

	"github.com/stoker-ml/stoker/compute/tf/tftest"
)

//go:embed testdata/analyse.py
var analyseScript string

// analysis asks TensorFlow Model Analysis for metrics of a model on raw examples: of all of them,
// and by the values of a feature.
type analysis struct {
	Model    string `json:"model"`
	Examples string `json:"examples"` // pattern
	Label    string `json:"label"`
	Slice    string `json:"slice"`
	Task     task   `json:"task"`
	Config   string `json:"config"` // more of the model's spec
}

// task is the kind of prediction, which determines the metrics.
type task string

// Every metric in ModelTrained has the value that TensorFlow Model Analysis computes for the
// exported models on the raw examples. The graph transforms the label if there is one. Tolerance:
// 1e-6, relative for values over 1. Both sum 100 to 4966 numbers, Keras's losses and errors in
// float32; probabilities are clipped at 1e-7 there.
func TestModelAnalysisFindsTheSameMetrics(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		data, label, slice string
		transformed        bool
		task               task
	}{
		"classes":                {"penguin", "species", "species", false, "classes"},
		"classes transformed":    {"penguin", "species", "species", true, "classes"},
		"classes that are words": {"taxi", "payment_type", "payment_type", false, "classes"},
		"yes or no":              {"taxi", "tips", "trip_start_hour", true, "binary"},
		"numbers":                {"penguin", "body_mass_g", "species", true, "numbers"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			a := assignment(t, c.data, c.transformed, map[string]any{"label": c.label})
			a.EvalModelDir = filepath.Join(t.TempDir(), "Format-TFMA")
			want := done(t, run(t, "dnn", a))
			ask := analysis{Examples: abs(t, examples, c.data, "examples", "Split-eval", "*"), Label: c.label, Slice: c.slice, Task: c.task}
			if c.transformed {
				ask.Label += "_xf"
			}
			ask.Model = a.EvalModelDir
			analysed(t, ask, want)
			if name == "classes that are words" {
				return // the served model does not return the words
			}
			ask.Model = a.ServingModelDir // TFX's Evaluator reads it by default
			if c.transformed {
				ask.Config = `preprocessing_function_names: "transform_features"`
			}
			analysed(t, ask, want)
		})
	}
}

// analysed compares, and checks that the slices are parts of the whole.
func analysed(t *testing.T, ask analysis, want map[string]float64) {
	t.Helper()
	var got struct {
		All    map[string]float64
		Slices map[string]map[string]float64
	}
	tftest.RunAnalysis(t, analyseScript, ask, &got)
	want = maps.Clone(want)
	delete(want, "keras_auc") // Keras's own, which is there already
	if len(got.All) != len(want) {
		t.Errorf("metrics %v, TensorFlow Model Analysis has %v", want, got.All)
	}
	for name, value := range got.All {
		if math.Abs(value-want[name]) > 1e-6*max(1, math.Abs(value)) {
			t.Errorf("%s is %v, TensorFlow Model Analysis has %v", name, want[name], value)
		}
	}
	rows := 0.0
	for _, slice := range got.Slices {
		rows += slice["example_count"]
	}
	if rows != want["example_count"] || len(got.Slices) < 2 {
		t.Errorf("%d slices hold %v of %v rows", len(got.Slices), rows, want["example_count"])
	}
}

// The results of TensorFlow 2.21 in the first tier hold for 2.16 too.
func TestOlderLoadersServeWhatWasTransformedAndTrained(t *testing.T) {
	t.Parallel()
	servedByAll(t, tftest.RunAnalysis, "2.16.2")
}
