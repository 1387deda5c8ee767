//go:build kerastuner

package oracle_test

import (
	"testing"

	"github.com/stoker-ml/stoker/compute/tf/tftest"
)

func TestKerasTunerWithKeras2ResumesTheOptimizerItself(t *testing.T) {
	t.Parallel()
	checkUnbroken(t, promoted(t, tftest.RunEstimator, false))
}

func TestKerasTunerWithKeras3BeginsTheOptimizerAnewByItself(t *testing.T) {
	t.Parallel()
	for way, w := range promoted(t, tftest.Run, false) {
		if w.Steps != 1 {
			t.Errorf("%s: %d steps counted: expected that our driver is still needed", way, w.Steps)
		}
	}
}
