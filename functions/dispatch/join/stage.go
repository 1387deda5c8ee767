package join

import (
	"slices"
	"time"

	"github.com/stoker-ml/stoker/events"
	"github.com/stoker-ml/stoker/functions/pipeline"
)

// Stage is one job of a run: what it is made from, which is pinned once, and its progress.
//
// The search is due when the run has all that its training waits for except the hyperparameters.
// The run then waits for the search's outcome, which is an event like any other, for as long as
// that takes. The training is due when no event is missing.
type Stage struct {
	Function events.Function `json:"function"` // tune or train

	// What the job is made from. Later events, and later revisions of the pipeline, don't change
	// it.
	Through  uint64 `json:"through"`         // the run's events up to this sequence
	Revision uint64 `json:"revision"`        // of the pipeline; 0: due, and not pinned yet
	Latest   Latest `json:"latest,omitzero"` // what "latest" meant

	Job string `json:"job,omitempty"` // id of the job that was made last; "": none was

	// Unconfirmed says that Job may not be on the queue yet: the join is marked first and the job
	// is enqueued then, so that a run that has ended never has a job.
	Unconfirmed bool `json:"unconfirmed,omitempty"`

	Retry Retry  `json:"retry,omitzero"`  // how that job differs from the first one
	After uint64 `json:"after,omitempty"` // outcomes up to this sequence are those of earlier jobs
	// Sequence of the event with the outcome of Job, once it is recorded.
	Outcome uint64 `json:"outcome,omitempty"`
}

// Latest is what "latest" meant when a stage was pinned.
type Latest struct {
	Hyperparameters string `json:"hyperparameters,omitempty"`
	BaseModel       string `json:"base_model,omitempty"`
	// The pipeline's window, in the order of the spans.
	Spans []events.Examples `json:"spans,omitempty"`
}

// Wants says which "latest" values must be looked up for a due stage, all of them among earlier
// events.
type Wants struct {
	Hyperparameters bool // the newest HParamsReady of the pipeline
	BaseModel       bool // the newest ModelTrained
	Blessed         bool // the newest model that is blessed
	// The examples of so many spans: see Window; 0 for those that the run names.
	Spans int
}

// Exists reports whether the run has this stage: the zero Stage does not exist.
func (s Stage) Exists() bool { return s.Function != "" }

// Stage returns the run's stage of a function; the zero Stage if it has none.
func (j Join) Stage(function events.Function) Stage {
	at := slices.IndexFunc(j.Stages, func(s Stage) bool { return s.Function == function })
	if at < 0 {
		return Stage{}
	}
	return j.Stages[at]
}

// Current returns the stage whose job the run waits for, or has to get next: the training once that
// is pinned, the search before. It is the zero Stage if the run has neither, or has ended before
// its training was pinned.
func (j Join) Current() Stage {
	if j.State == Waiting {
		return j.Stage(events.FunctionTune)
	}
	return j.Stage(events.FunctionTrain)
}

// LacksJob reports whether the run's current stage has no job yet.
func (j Join) LacksJob() bool {
	stage := j.Current()
	return j.State != Ended && stage.Exists() && stage.Job == ""
}

// IsSearching reports whether the run waits for the result of its search, whose job may or may not
// be on the queue.
func (j Join) IsSearching() bool { return j.State == Waiting && j.Stage(events.FunctionTune).Exists() }

// At returns the run as the job of a stage sees it: without later events, and for a search without
// its own result.
func (j Join) At(s Stage) Join {
	at := New(j.Pipeline, j.Run)
	for _, event := range j.Events {
		if event.Sequence <= s.Through && (s.Function != events.FunctionTune || !endsSearch(event.Kind)) {
			at.Events = append(at.Events, event)
		}
	}
	return at
}

// Due returns the stage that is to be pinned next; false if none is.
func (j Join) Due(p pipeline.Pipeline) (Stage, bool) {
	if j.SearchDue() {
		return j.Stage(events.FunctionTune), true
	}
	if j.Ready(p) {
		return Stage{Function: events.FunctionTrain, Through: j.Completed()}, true
	}
	return Stage{}, false
}

// SearchDue reports whether the run has a search that is still to be pinned.
func (j Join) SearchDue() bool {
	search := j.Stage(events.FunctionTune)
	return search.Exists() && search.Revision == 0
}

// DropNeedlessSearch returns the join without a due search that the run does not need, because it
// has ended or has its hyperparameters from elsewhere.
func (j Join) DropNeedlessSearch(p pipeline.Pipeline) Join {
	if j.SearchDue() && (j.State != Waiting || j.Ready(p) && !j.SearchAnnounced()) {
		return j.WithoutSearch()
	}
	return j
}

// Wants returns what the policies of the pipeline require besides the run's own inputs.
func (j Join) Wants(p pipeline.Pipeline, function events.Function) Wants {
	if function == events.FunctionTune {
		tuner := p.Tuner
		return Wants{Hyperparameters: tuner.When.Reuses() || tuner.Study.LearnsFromLast(), Spans: p.Trainer.Window}
	}
	policy := p.Trainer.Hyperparameters
	_, own := j.Event(events.KindHParamsReady)
	latest := policy == pipeline.HyperparametersLatest || policy == pipeline.HyperparametersAuto
	return Wants{
		Hyperparameters: !own && (latest || j.tuningFailed(p)),
		BaseModel:       p.Trainer.BaseModel == pipeline.BaseModelLatest,
		Blessed:         p.Trainer.BaseModel == pipeline.BaseModelBlessed,
		Spans:           p.Trainer.Window,
	}
}

// Pin fixes what the job of the due stage is made from. A run whose tuning failed, in a pipeline
// that never had hyperparameters, ends instead of being trained.
func (j Join) Pin(p pipeline.Pipeline, revision uint64, latest Latest) Join {
	stage, due := j.Due(p)
	if !due {
		return j
	}
	if stage.Function == events.FunctionTrain {
		if j.tuningFailed(p) && latest.Hyperparameters == "" {
			return j.End(events.FailureIncomplete, j.untuned("the pipeline has no earlier hyperparameters to use instead"), j.Last().Stored)
		}
		j.State = Complete
	}
	stage.Revision, stage.Latest = revision, latest
	return j.with(stage)
}

// Dispatch gives a pinned stage the job of that id, which is about to be enqueued.
func (j Join) Dispatch(function events.Function, job string, retry Retry) Join {
	stage := j.Stage(function)
	stage.Job, stage.Retry, stage.Outcome, stage.Unconfirmed = job, retry, 0, true
	if function == events.FunctionTrain {
		j.State = Dispatched
	}
	return j.with(stage)
}

// Undeliverable ends a run because the queue never accepts the first job of a stage.
func (j Join) Undeliverable(function events.Function, message string, at time.Time) Join {
	stage := j.Stage(function)
	if j.State == Ended || !stage.Unconfirmed || stage.Retry != (Retry{}) {
		return j
	}
	stage.Job, stage.Unconfirmed = "", false
	if function == events.FunctionTrain {
		j.State = Complete
	}
	return j.with(stage).End(events.FailureInput, message, at)
}

// Confirmed returns a join whose jobs are known to have been enqueued.
func (j Join) Confirmed() Join {
	for _, stage := range j.Stages {
		stage.Unconfirmed = false
		j = j.with(stage)
	}
	return j
}

// Concluded returns a join with the sequence of the outcome of its training.
func (j Join) Concluded(outcome uint64) Join {
	train := j.Stage(events.FunctionTrain)
	train.Outcome = outcome
	return j.with(train)
}

// RetriedAfter returns a join whose outcomes up to a sequence are those of earlier jobs of a stage.
func (j Join) RetriedAfter(function events.Function, outcome uint64) Join {
	stage := j.Stage(function)
	stage.After = outcome
	return j.with(stage)
}

// SearchAnnounced reports whether the run's own search has announced its result, rather than
// another publisher or a tuner that skipped the search.
func (j Join) SearchAnnounced() bool {
	reused, nothing := events.SkippedIDs(j.Pipeline, j.Run)
	return slices.ContainsFunc(j.Events, func(e Event) bool {
		return endsSearch(e.Kind) && e.Source == events.Source(events.FunctionTune) && e.ID != reused && e.ID != nothing
	})
}

// WithoutSearch returns the join without its search.
func (j Join) WithoutSearch() Join {
	j.Stages = slices.DeleteFunc(slices.Clone(j.Stages), func(s Stage) bool { return s.Function == events.FunctionTune })
	return j
}

// with returns the join with a stage that replaces the one of the same function.
func (j Join) with(stage Stage) Join {
	j.Stages = slices.Clone(j.Stages)
	at := slices.IndexFunc(j.Stages, func(s Stage) bool { return s.Function == stage.Function })
	if at < 0 {
		j.Stages = append(j.Stages, stage)
	} else {
		j.Stages[at] = stage
	}
	return j
}
