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

// A goal that the first folds reach by luck does not end their trial: the mean over all folds has
// to reach it.
func TestAGoalDoesNotEndATrialBeforeItsLastFold(t *testing.T) {
	t.Parallel()
	goal := 0.5
	config := tune.Config{Objectives: []tune.Objective{{Name: "loss", Direction: tune.Min}}, Goal: &goal, Validation: tune.Validation{Folds: 3}}
	study := tune.Study{Config: config, Trials: []*tune.Trial{{ID: "0000"}}}
	for step, want := range map[int]bool{1: false, 2: false, 3: true} {
		curves := Curves{"loss": {{Step: step, Value: 0.4}}}
		if got := Early(study, "0000", curves); got != want {
			t.Errorf("after %d folds the trial ends: %t", step, got)
		}
	}
	ended := Completed(study, "0000", Curves{"loss": {{Step: 1, Value: 0.1}, {Step: 2, Value: 0.4}, {Step: 3, Value: 0.3}}}, map[string]float64{"loss": 0.3}, 0)
	if ended.Step != 3 {
		t.Errorf("the trial is judged by step %d", ended.Step)
	}
}
