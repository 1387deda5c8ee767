package tuner

import (
	"fmt"

	"github.com/stoker-ml/stoker/compute/tune"
	"github.com/stoker-ml/stoker/events"
	"github.com/stoker-ml/stoker/functions/execution"
	"github.com/stoker-ml/stoker/functions/execution/tuner/search"
	"github.com/stoker-ml/stoker/functions/pipeline"
	"github.com/stoker-ml/stoker/storage"
)

// learningFrom is the job with the artifact that its search learns from as its only
// hyperparameters: of a search of Stoker's own the trials, of what others found what is there.
// Without, it has none: what the job may reuse decides nothing about a search.
func learningFrom(job events.Job, search pipeline.Search) events.Job {
	from := ""
	if search.Study != nil {
		from = search.Study.From
	}
	if from == pipeline.FromLatest {
		from = job.Inputs.Hyperparameters
	}
	if ref, err := storage.ParseRef(from); err == nil {
		if place, ours := storage.PlaceOf(ref); ours {
			from = place.Output(resultsKey).String()
		}
	}
	job.Inputs.Hyperparameters = from
	return job
}

// learn gives a study what its search is to learn from: the trials of an older one, as far as they
// lie in its space; or what others found best, as a point to try first.
func learn(a *execution.Attempt, c *tune.Config) error {
	from := learningFrom(a.Job, a.Execution.Spec.Search()).Inputs.Hyperparameters
	if from == "" {
		return nil // nothing is to be learned from, or there is nothing yet
	}
	if err := search.Learn(a.Workspace.In(execution.Hyperparameters), c); err != nil {
		return execution.InputFailure(fmt.Errorf("tuner.study.from: %s: %w", from, err))
	}
	return nil
}
