package tuner

import (
	"github.com/stoker-ml/stoker/compute/tune"
	"github.com/stoker-ml/stoker/events"
	"github.com/stoker-ml/stoker/functions/execution"
	"github.com/stoker-ml/stoker/functions/execution/tuner/search"
	"github.com/stoker-ml/stoker/functions/module"
)

// found is what a search comes to.
type found struct {
	values map[string]any
	score  *float64 // of the best trial
	trials int      // that were completed

	// Of a study of ours.
	study     string
	objective string
	best      string   // trial
	why       tune.Why // it ended
	note      string   // what is missing of what was asked for
}

// check refuses what no reader of TFX's files would understand, and what could not be published or told of: after the commit it
// would be too late.
func check(a *execution.Attempt, told module.Assignment) (f found, err error) {
	a.Report(events.Progress{Phase: "checking"})
	if f.values, err = search.ReadBest(told.BestHyperparametersDir); err != nil {
		return f, execution.CheckFailure(err)
	}
	scores, err := search.ReadResults(told.TunerResultsDir)
	if err != nil {
		return f, execution.CheckFailure(err)
	}
	f.score, f.trials = &scores[0], len(scores)
	return f, a.CheckTold(tell(a, f, a.Started))
}
