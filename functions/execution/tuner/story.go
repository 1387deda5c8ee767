package tuner

import (
	"encoding/json"
	"fmt"
	"time"

	"github.com/stoker-ml/stoker/compute/drift"
	"github.com/stoker-ml/stoker/compute/tune"
	"github.com/stoker-ml/stoker/events"
	"github.com/stoker-ml/stoker/functions/execution"
)

// story is what there is to tell of a search besides its artifacts. It is kept in the manifest, so that a cache hit
// tells the same.
type story struct {
	Job    string            `json:"job"` // that did the work
	Module string            `json:"module"`
	Inputs []events.Artifact `json:"inputs"`
	Shape  *drift.Shape      `json:"shape,omitempty"` // of the inputs; none where they could not be read
	Values map[string]any    `json:"values"`
	Score  *float64          `json:"score,omitempty"`
	Trials int               `json:"trials,omitempty"`

	// Of a study of ours.
	Study     string   `json:"study,omitempty"`
	Objective string   `json:"objective,omitempty"`
	Best      string   `json:"best,omitempty"` // trial
	Why       tune.Why `json:"why,omitempty"`  // it ended
	Note      string   `json:"note,omitempty"` // what is missing of what was asked for

	Started  time.Time `json:"started"`
	Finished time.Time `json:"finished"`
	Attempts int       `json:"attempts"`
	Resumed  int       `json:"resumed,omitempty"` // step of the checkpoint that the last attempt went on from
}

// tell is what there is to tell of an attempt that finished at a time.
func tell(a *execution.Attempt, f found, finished time.Time) story {
	return story{
		Job: a.Job.ID, Module: a.Execution.Module, Inputs: execution.Artifacts(a.Execution.Inputs),
		Values: f.values, Score: f.score, Trials: f.trials, Study: f.study, Objective: f.objective, Best: f.best, Why: f.why, Note: f.note,
		Started: a.Started, Finished: finished, Attempts: a.Task.Attempt.Number, Resumed: a.Resumed,
	}
}

// Tell makes the fact of a job whose execution is committed. It is cached if another job did the work.
func (t *Tuner) Tell(job events.Job, r execution.Result) (events.Fact, error) {
	var told story
	if err := json.Unmarshal(r.Manifest.Result, &told); err != nil {
		return events.Fact{}, fmt.Errorf("result: %w", err)
	}
	return events.NewHParamsFound(job, &events.HParamsReady{
		Hyperparameters: r.Manifest.Outputs[bestKey].URI,
		Values:          told.Values,
		Score:           told.Score,
		Objective:       told.Objective,
		Study:           r.Manifest.Outputs[resultsKey].URI,
		Execution:       r.Manifest.Execution,
		Generation:      r.Commit.Generation,
		Cached:          told.Job != job.ID && !r.Reused,
		Reused:          r.Reused,
	}, told.Finished), nil
}
