package search

import (
	"path/filepath"
	"testing"

	"github.com/stoker-ml/stoker/compute/tune"
	"github.com/stoker-ml/stoker/functions/module"
)

// A module that must end takes a while: its result is that of the step that it reached, so that the
// score is not one of a later step.
func TestATrialIsStoppedAtTheStepItCameTo(t *testing.T) {
	t.Parallel()
	study := tune.Study{Config: tune.Config{Objectives: []tune.Objective{{Name: "loss", Direction: tune.Min}}}}
	h := NewMonitor("0001", filepath.Join(t.TempDir(), "stop"), Curves{})
	say := func(step int, loss float64) {
		h.Observe(study, module.Message{Step: step, Metrics: map[string]float64{"loss": loss}})
	}
	say(50, 2)
	h.End(false)
	say(100, 1)
	ended := h.Ended(study, map[string]float64{"loss": 1})
	if ended.Stopped != 100 || ended.Step != 100 {
		t.Errorf("stopped at %d, best at %d; want both at 100", ended.Stopped, ended.Step)
	}
}
