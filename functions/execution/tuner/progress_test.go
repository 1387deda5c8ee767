package tuner_test

import (
	"testing"

	"github.com/stoker-ml/stoker/compute/tune"
	"github.com/stoker-ml/stoker/functions/execution/tuner"
)

// In Hyperband, trials that continue others do not count against the maximum: a search is never at
// step 3 of 2.
func TestProgressCountsWhatMaxTrialsCounts(t *testing.T) {
	t.Parallel()
	ended := func(parent string, status tune.Status) *tune.Trial {
		return &tune.Trial{Suggestion: tune.Suggestion{Parent: parent}, Status: status}
	}
	study := tune.Study{Trials: []*tune.Trial{
		ended("", tune.Completed), ended("", tune.Failed), ended("0000", tune.Completed), ended("0002", tune.Running),
	}}
	study.Config = oneFloat(tune.Hyperband, 2, 1)
	if p := tuner.Progress(study); p.Step != 2 || p.Steps != 2 {
		t.Errorf("step %d of %d", p.Step, p.Steps)
	}
	study.Config.MaxTrials = 0
	if p := tuner.Progress(study); p.Step != 3 || p.Steps != 0 {
		t.Errorf("step %d of any number: %d", p.Step, p.Steps)
	}
}
