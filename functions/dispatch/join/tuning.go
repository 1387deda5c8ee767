package join

import (
	"fmt"
	"slices"

	"github.com/stoker-ml/stoker/events"
	"github.com/stoker-ml/stoker/functions/pipeline"
)

// Tuning is the search for a run's hyperparameters. It is due when the run has all that its training waits for but those; then it
// is pinned, and its job is made from that alone, whatever comes later. The run goes on waiting for what comes of it, for as
// long as that takes.
type Tuning struct {
	Sequence uint64            `json:"sequence"`          // of the fact by which it was due: later ones are none of its job's
	Revision uint64            `json:"revision"`          // of the pipeline; 0: due, and not pinned yet
	Spans    []events.Examples `json:"spans,omitempty"`   // the pipeline's window, as it was then
	Earlier  string            `json:"earlier,omitempty"` // the pipeline's last hyperparameters then, where the search may reuse or learn from them
	Job      string            `json:"job,omitempty"`     // id of its job, once that is to be enqueued

	Unconfirmed bool `json:"unconfirmed,omitempty"` // Job may not be on the queue yet, as Join.Unconfirmed
}

// searches says whether a run's tuning is due now.
func (j Join) searches(p pipeline.Pipeline) bool {
	missing := j.Missing(p)
	return p.Tunes() && j.Tuning == nil && len(missing) == 1 && missing[0] == events.KindHParamsReady
}

// TuningDue says whether a join has a tuning that is still to be pinned.
func (j Join) TuningDue() bool { return j.Tuning != nil && j.Tuning.Revision == 0 }

// IsTuned says whether a join waits for what comes of its tuning, whose job may or may not be on the queue.
func (j Join) IsTuned() bool { return j.State == Waiting && j.Tuning != nil }

// TuningWants says which "latest" a tuning that is due still has to have looked up, all of it among the facts before that.
func (j Join) TuningWants(p pipeline.Pipeline) Wants {
	tuner := p.Tuner
	learns := tuner.Study != nil && tuner.Study.From == pipeline.FromLatest
	return Wants{Hyperparameters: tuner.When.Reuses() || learns, Spans: p.Trainer.Window}
}

// PinTuning fixes the job of a tuning that is due.
func (j Join) PinTuning(revision uint64, latest Latest) Join {
	tuning := *j.Tuning
	tuning.Revision, tuning.Spans, tuning.Earlier = revision, latest.Spans, latest.Hyperparameters
	j.Tuning = &tuning
	return j
}

// Untuned is a join whose tuning is nobody's business any more.
func (j Join) Untuned() Join {
	j.Tuning = nil
	return j
}

// DispatchTuning is a join whose tune job is about to be enqueued.
func (j Join) DispatchTuning(job string) Join {
	tuning := *j.Tuning
	tuning.Job, tuning.Unconfirmed = job, true
	j.Tuning = &tuning
	return j
}

// TunedByUs says whether the run's own tuning has told what came of it, rather than someone else, or a tuner that skipped it.
func (j Join) TunedByUs() bool {
	reused, nothing := events.SkippedIDs(j.Pipeline, j.Run)
	return slices.ContainsFunc(j.Facts, func(f Pinned) bool {
		told := f.Kind == events.KindHParamsReady || f.Kind == events.KindTuningFailed
		return told && f.Source == events.Source(events.FunctionTune) && f.ID != reused && f.ID != nothing
	})
}

// AtTuning is the run as it was when its tuning was due.
func (j Join) AtTuning() Join {
	at := New(j.Pipeline, j.Run)
	for _, fact := range j.Facts {
		told := fact.Kind == events.KindHParamsReady || fact.Kind == events.KindTuningFailed
		if fact.Sequence <= j.Tuning.Sequence && !told {
			at.Facts = append(at.Facts, fact)
		}
	}
	at.Revision, at.Latest = j.Tuning.Revision, Latest{Hyperparameters: j.Tuning.Earlier, Spans: j.Tuning.Spans}
	return at
}

// Tune makes the job that searches for a run's hyperparameters, or finds that it may reuse those that it names as its input: the
// pipeline's last ones. p is the pipeline at the tuning's revision.
func (j Join) Tune(p pipeline.Pipeline, again Again) (events.Job, error) {
	if j.Tuning == nil || j.TuningDue() || p.Tuner == nil {
		return events.Job{}, fmt.Errorf("run %s of %s is not tuned", j.Run, j.Pipeline)
	}
	at := j.AtTuning()
	in := at.inputs()
	if len(at.Latest.Spans) > 0 {
		*windowed(&in) = at.Latest.Spans
	}
	in.Hyperparameters = at.Latest.Hyperparameters
	if again.Salt == "" {
		again.Salt = saltOf(at.forced())
	}
	return at.make(p, again, events.Job{Function: events.FunctionTune, Class: p.Search().Resources.Class, Inputs: in, Salt: again.Salt})
}
