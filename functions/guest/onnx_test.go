//go:build distribute

package guest_test

import (
	"path/filepath"
	"testing"

	"github.com/stoker-ml/stoker/compute/export"
	"github.com/stoker-ml/stoker/functions/guest"
)

// The layer with tf2onnx is made once, of the environment of the tests.
func TestONNXOfATFXModuleIsMadeWhereItsConverterIsInstalled(t *testing.T) {
	t.Parallel()
	a := pythonAssignment(t, exportsItsModel)
	a.Exports, a.Module.Requirements = []string{"onnx"}, []string{"tf2onnx==1.17.0"}
	outcome, err := pythonHost(t).Run(t.Context(), a, guest.Limits{}, nil)
	if err != nil || len(outcome.Unwritten) > 0 {
		t.Fatal(err, outcome.Unwritten, outcome.LogTail)
	}
	if err := export.Check(filepath.Dir(a.ServingModelDir), a.Exports); err != nil {
		t.Error(err)
	}
	checkAnswers(t, a, map[string]float64{"Format-ONNX/model.onnx": float32Tolerance})
}
