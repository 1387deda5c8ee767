//go:build distribute

package runner_test

import (
	"path/filepath"
	"testing"

	"github.com/stoker-ml/stoker/compute/export"
	"github.com/stoker-ml/stoker/functions/runner"
)

// The layer with tf2onnx is made once, of the environment of the tests.
func TestONNXOfATFXModuleIsMadeWhereItsConverterIsInstalled(t *testing.T) {
	t.Parallel()
	a := pythonAssignment(t, exportsItsModel)
	a.Exports, a.Module.Requirements = []string{"onnx"}, []string{"tf2onnx==1.17.0"}
	outcome, err := pythonRunner(t).Run(t.Context(), a, runner.Limits{}, nil)
	if err != nil || len(outcome.Unwritten) > 0 {
		t.Fatal(err, outcome.Unwritten, outcome.LogTail)
	}
	if err := export.Check(filepath.Dir(a.ServingModelDir), a.Exports); err != nil {
		t.Error(err)
	}
	checkAnswers(t, a, map[string]float64{"Format-ONNX/model.onnx": float32Tolerance})
}

// What 8 bits are chosen by are transformed features, and a run may bring raw rows and the graph alone.
func TestRawRowsGoThroughTheTransformGraphBeforeAConverterSeesThem(t *testing.T) {
	t.Parallel()
	a := pythonAssignment(t, exportsItsModel)
	data, err := filepath.Abs("../../local/demo/data")
	if err != nil {
		t.Fatal(err)
	}
	a.TrainFiles, a.TransformGraphPath = []string{filepath.Join(data, "examples", "Split-train", "*")}, filepath.Join(data, "transform_graph")
	a.Exports = []string{"tflite-int8"}
	outcome, err := pythonRunner(t).Run(t.Context(), a, runner.Limits{}, nil)
	if err != nil || len(outcome.Unwritten) > 0 {
		t.Fatal(err, outcome.Unwritten, outcome.LogTail)
	}
	checkAnswers(t, a, map[string]float64{"Format-TFLite/model-int8.tflite": 2e-2}) // as with transformed rows
}
