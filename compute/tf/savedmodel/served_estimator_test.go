//go:build estimator

package savedmodel

import (
	_ "embed"
	"testing"

	"github.com/stoker-ml/stoker/compute/tf/tftest"
)

//go:embed testdata/estimators.py
var estimatorsScript string

// Models that Estimators and Keras 2 export answer in Go as in TensorFlow 2.15.
func TestEstimatorsAndKeras2AreAskedInGo(t *testing.T) {
	t.Parallel()
	var models map[string]savedModel
	tftest.RunEstimator(t, modelsScript+estimatorsScript, t.TempDir(), &models)
	for name, m := range models {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			compareModel(t, m)
		})
	}
}
