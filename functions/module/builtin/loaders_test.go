package builtin_test

import (
	_ "embed"
	"strings"
	"testing"

	"github.com/stoker-ml/stoker/compute/tf/tftest"
)

//go:embed testdata/loaders.py
var loadersScript string

// loaders is a model served for all rows by every loader of TensorFlow.
type loaders struct {
	Version, Shown string
	Rows           int
	Differences    map[string]float64 // by loader
	Losses         []float64          // of three epochs of further training
}

// runScript is tftest.RunLive, or the same with another TensorFlow.
type runScript func(t testing.TB, script string, in, out any)

// Every loader answers raw rows, without their label, like the model answers the rows as TFX
// transformed them: rows of the taxi data lack values, and have words outside the vocabularies.
// Tolerance: 1e-5, relative for values over 1, since each loader optimizes graphs differently, and
// so sums in another order.
func TestEveryLoaderServesWhatWasTransformedAndTrained(t *testing.T) {
	t.Parallel()
	servedByAll(t, tftest.RunLive, "2.21.0")
}

func servedByAll(t *testing.T, run runScript, version string) {
	t.Helper()
	for _, data := range []struct {
		name, label string
		rows        int
	}{{"penguin", "species", 100}, {"taxi", "tips", 4966}} {
		t.Run(data.name, func(t *testing.T) {
			t.Parallel()
			got := servedBy(t, run, data.name, data.label)
			if got.Version != version || got.Rows != data.rows || len(got.Differences) != 7 {
				t.Errorf("TensorFlow %s served %d rows in %d ways", got.Version, got.Rows, len(got.Differences))
			}
			for loader, difference := range got.Differences {
				if !(difference <= 1e-5) {
					t.Errorf("%s: off by %v", loader, difference)
				}
			}
			if n := len(got.Losses); n != 3 || !(got.Losses[2] < got.Losses[0]) {
				t.Errorf("further training has the losses %v", got.Losses)
			}
			for _, signature := range []string{"serving_default", "transform_features", "predict_tensors"} {
				if !strings.Contains(got.Shown, "signature_def['"+signature+"']") {
					t.Errorf("saved_model_cli shows no %s", signature)
				}
			}
		})
	}
}

func servedBy(t *testing.T, script runScript, data, label string) loaders {
	t.Helper()
	a := assignment(t, data, true, map[string]any{"label": label})
	run(t, "dnn", a)
	var got loaders
	script(t, loadersScript, map[string]any{
		"model": a.ServingModelDir, "examples": abs(t, examples, data, "examples", "Split-eval", "*"),
		"transformed": a.EvalFiles[0], "raw_label": label, "label": label + "_xf",
	}, &got)
	return got
}
