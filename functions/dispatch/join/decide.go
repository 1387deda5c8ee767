package join

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/stoker-ml/stoker/events"
	"github.com/stoker-ml/stoker/functions/pipeline"
)

// Decide says what a run is, by its facts alone: it walks through them in the order of the log, and stops where the run has all it
// waits for (Ready), where it ends, or where the facts end. Facts after that point change nothing.
func Decide(p pipeline.Pipeline, run string, facts []Pinned) Join {
	return New(p.Name, run).Decide(p, facts)
}

// Decide is Decide for a run whose tuning may be pinned already: that stays as it is. One that is found due is still to be pinned.
func (j Join) Decide(p pipeline.Pipeline, facts []Pinned) Join {
	run := New(j.Pipeline, j.Run)
	run.Tuning, run.Began = j.Tuning, j.Began
	for _, fact := range slices.SortedStableFunc(slices.Values(facts), bySequence) {
		if !fact.Counts(p) {
			continue
		}
		if run = run.Add(fact); run.tuningEnds(p) {
			return run.End(events.FailureIncomplete, run.untuned("the pipeline's tuner.on_failed is fail"), fact.Stored)
		}
		if run.Ready(p) {
			break
		}
		if run.searches(p) {
			run.Tuning = &Tuning{Sequence: fact.Sequence}
		}
	}
	return run
}

// Missing lists the kinds that the pipeline waits for and the join does not have. A run whose tuning failed does not wait for
// hyperparameters any more.
func (j Join) Missing(p pipeline.Pipeline) []events.Kind {
	var missing []events.Kind
	for _, kind := range waitFor(p) {
		_, has := j.Fact(kind)
		if !has && !(kind == events.KindHParamsReady && j.tuningFailed(p)) {
			missing = append(missing, kind)
		}
	}
	return missing
}

// Ready says whether a join that still waits has no reason to.
func (j Join) Ready(p pipeline.Pipeline) bool { return j.State == Waiting && len(j.Missing(p)) == 0 }

// tuningFailed says whether the run has neither its own hyperparameters nor a hope of them.
func (j Join) tuningFailed(p pipeline.Pipeline) bool {
	_, failed := j.Fact(events.KindTuningFailed)
	_, tuned := j.Fact(events.KindHParamsReady)
	return failed && !tuned && p.AwaitsTuning()
}

func (j Join) tuningEnds(p pipeline.Pipeline) bool {
	return j.tuningFailed(p) && p.Tuner.OnFailed == pipeline.OnFailedFail
}

// Deadline is until when, by the bus's clock, a join waits; false if it may wait for ever. It is
// measured from the first fact that started the run. One that is tuned waits for as long as that takes.
func (j Join) Deadline(p pipeline.Pipeline) (time.Time, bool) {
	after, bounded := p.Trainer.ExpireAfter.After()
	first := slices.IndexFunc(j.Facts, func(f Pinned) bool { return f.Starts(p) })
	if j.State != Waiting || j.Tuning != nil || !bounded || first < 0 {
		return time.Time{}, false
	}
	return j.Facts[first].Stored.Add(after), true
}

// Clocks are what a dispatcher knows of the time: no single clock ends a run.
type Clocks struct {
	Bus time.Time // of the server that leads the gates
	Own time.Time // of the dispatcher
}

// Expire ends a join that has waited for longer than its pipeline allows. It is to be asked for a
// join that holds every fact of the run: a dispatcher may be far behind the log.
//
// A run expires when somebody finds that it has waited for too long, not by the time that a late
// fact was stored at: the servers that stamp facts have clocks of their own. The wait is measured
// twice, by two pairs of clocks: from when the first fact was stored until Bus, and from when a
// dispatcher began the join until Own. Both have to say that it is over, so that one clock that is
// wrong, or jumps, makes a run wait for longer and ends none early.
func (j Join) Expire(p pipeline.Pipeline, now Clocks) Join {
	deadline, bounded := j.Deadline(p)
	after, _ := p.Trainer.ExpireAfter.After()
	if !bounded || !now.Bus.After(deadline) || !j.Began.IsZero() && now.Own.Sub(j.Began) <= after {
		return j
	}
	return j.expired(p, deadline)
}

func (j Join) expired(p pipeline.Pipeline, deadline time.Time) Join {
	after := p.Trainer.ExpireAfter
	kinds := make([]string, 0, 2)
	for _, kind := range j.Missing(p) {
		kinds = append(kinds, string(kind))
	}
	since := deadline.Add(-time.Duration(after)).UTC().Format(time.RFC3339)
	message := fmt.Sprintf("waited for %s since %s, and expired after %s", strings.Join(kinds, " and "), since, after)
	return j.End(events.FailureIncomplete, message, deadline)
}

// End ends a join that has no job yet; one that has, or that has ended, stays as it is.
func (j Join) End(kind events.FailureKind, message string, at time.Time) Join {
	if j.State == Waiting || j.State == Complete {
		j.State, j.Ending = Ended, &Ending{Kind: kind, Message: message, At: at.UTC(), Through: j.Completed()}
	}
	return j
}

// Dispatch gives a run that is complete, or that has had a job before, the job of that id, which is
// about to be enqueued.
func (j Join) Dispatch(job string, again Again) Join {
	j.State, j.Job, j.Again, j.Outcome, j.Unconfirmed = Dispatched, job, again, 0, true
	return j
}

// Undeliverable ends a run whose first job the queue never takes.
func (j Join) Undeliverable(message string, at time.Time) Join {
	if j.State != Dispatched || !j.Unconfirmed || j.Again != (Again{}) {
		return j
	}
	j.State, j.Job, j.Unconfirmed = Complete, "", false
	return j.End(events.FailureInput, message, at)
}

// Confirmed is a join whose jobs are known to have been enqueued.
func (j Join) Confirmed() Join {
	j.Unconfirmed = false
	if j.Tuning != nil && j.Tuning.Unconfirmed {
		tuning := *j.Tuning
		tuning.Unconfirmed = false
		j.Tuning = &tuning
	}
	return j
}

// TooLarge ends a join that its register has no room for, and leaves out what its facts named. One that has ended stays ended as it has.
func (j Join) TooLarge(message string, at time.Time) Join {
	j.Facts = slices.Clone(j.Facts)
	for i := range j.Facts {
		j.Facts[i].Inputs = events.Inputs{}
	}
	j.Latest = Latest{}
	if j.Tuning != nil {
		j = j.PinTuning(j.Tuning.Revision, Latest{})
	}
	if j.State != Ended {
		j.State, j.Ending = Ended, &Ending{Kind: events.FailureInput, Message: message, At: at.UTC(), Through: j.Completed()}
	}
	return j
}

// Told is a join whose end is in the log.
func (j Join) Told() Join {
	ending := *j.Ending
	ending.Told = true
	j.Ending = &ending
	return j
}

// Checked is a join whose end has left no job behind.
func (j Join) Checked() Join {
	ending := *j.Ending
	ending.Checked = true
	j.Ending = &ending
	return j
}

// waitFor turns the pipeline's words into kinds of facts.
func waitFor(p pipeline.Pipeline) []events.Kind {
	kinds := make([]events.Kind, 0, len(p.Trainer.WaitFor))
	for _, word := range p.Trainer.WaitFor {
		kinds = append(kinds, events.Kind(word+".ready"))
	}
	return kinds
}
