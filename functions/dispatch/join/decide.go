package join

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/stoker-ml/stoker/events"
	"github.com/stoker-ml/stoker/functions/pipeline"
)

// Decide returns the state of a run that follows from its events alone. It goes through them in the
// order of the log, and stops when the run has all it waits for (Ready), when the run ends, or
// after the last event. Later events change nothing.
func Decide(p pipeline.Pipeline, run string, all []Event) Join {
	return New(p.Name, run).Decide(p, all)
}

// Decide is the function Decide for a run whose search may be pinned already: that stays as it is.
// A search that is found due is still to be pinned.
func (j Join) Decide(p pipeline.Pipeline, all []Event) Join {
	run := New(j.Pipeline, j.Run)
	run.Began = j.Began
	if search := j.Stage(events.FunctionTune); search.Exists() {
		run = run.with(search)
	}
	for _, event := range slices.SortedStableFunc(slices.Values(all), bySequence) {
		if !event.Counts(p) {
			continue
		}
		if run = run.Add(event); run.tuningEnds(p) {
			return run.End(events.FailureIncomplete, run.untuned("the pipeline's tuner.on_failed is fail"), event.Stored)
		}
		if run.Ready(p) {
			break
		}
		if run.searches(p) {
			run = run.with(Stage{Function: events.FunctionTune, Through: event.Sequence})
		}
	}
	return run
}

// Missing lists the kinds of events that the pipeline waits for and the join does not have. A run
// whose tuning failed no longer waits for hyperparameters.
func (j Join) Missing(p pipeline.Pipeline) []events.Kind {
	var missing []events.Kind
	for _, kind := range waitFor(p) {
		_, has := j.Event(kind)
		if !has && !(kind == events.KindHParamsReady && j.tuningFailed(p)) {
			missing = append(missing, kind)
		}
	}
	return missing
}

// Ready reports whether a waiting join has all events that it waits for.
func (j Join) Ready(p pipeline.Pipeline) bool { return j.State == Waiting && len(j.Missing(p)) == 0 }

// searches reports whether the run's search becomes due now.
func (j Join) searches(p pipeline.Pipeline) bool {
	missing := j.Missing(p)
	return p.Tunes() && !j.Stage(events.FunctionTune).Exists() && len(missing) == 1 && missing[0] == events.KindHParamsReady
}

// tuningFailed reports whether the run has no hyperparameters of its own, and can't expect any.
func (j Join) tuningFailed(p pipeline.Pipeline) bool {
	_, failed := j.Event(events.KindTuningFailed)
	_, tuned := j.Event(events.KindHParamsReady)
	return failed && !tuned && p.AwaitsTuning()
}

func (j Join) tuningEnds(p pipeline.Pipeline) bool {
	return j.tuningFailed(p) && p.Tuner.OnFailed == pipeline.OnFailedFail
}

// Deadline returns until when, by the bus's clock, a join waits; false if it may wait forever. The
// wait is measured from the first event that started the run. A run with a search waits for as long
// as the search takes.
func (j Join) Deadline(p pipeline.Pipeline) (time.Time, bool) {
	after, bounded := p.Trainer.ExpireAfter.After()
	first := slices.IndexFunc(j.Events, func(e Event) bool { return e.Starts(p) })
	if j.State != Waiting || j.Stage(events.FunctionTune).Exists() || !bounded || first < 0 {
		return time.Time{}, false
	}
	return j.Events[first].Stored.Add(after), true
}

// Clocks are the times that a dispatcher knows: no single clock ends a run.
type Clocks struct {
	Bus time.Time // of the server that leads the admissions
	Own time.Time // of the dispatcher
}

// Expire ends a join that has waited for longer than its pipeline allows. The join must hold every
// event of the run: a dispatcher may be far behind the log.
//
// A run expires when a dispatcher finds that it has waited too long, not by the time that a late
// event was stored at: the servers that stamp events have clocks of their own. The wait is measured
// twice, by two pairs of clocks: from when the first event was stored until Bus, and from when a
// dispatcher began the join until Own. Both must exceed the limit, so that a single clock that is
// wrong, or jumps, makes a run wait longer but ends none early.
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

// End ends a join whose training has no job yet; other joins do not change.
func (j Join) End(kind events.FailureKind, message string, at time.Time) Join {
	if j.State == Waiting || j.State == Complete {
		j.State, j.Ending = Ended, &Ending{Kind: kind, Message: message, At: at.UTC(), Through: j.Completed()}
	}
	return j
}

// TooLarge ends a join that is too large for its bucket, and leaves out the inputs that its events
// named. A join that has ended keeps its ending.
func (j Join) TooLarge(message string, at time.Time) Join {
	j.Events = slices.Clone(j.Events)
	for i := range j.Events {
		j.Events[i].Inputs = events.Inputs{}
	}
	for _, stage := range j.Stages {
		stage.Latest = Latest{}
		j = j.with(stage)
	}
	if j.State != Ended {
		j.State, j.Ending = Ended, &Ending{Kind: events.FailureInput, Message: message, At: at.UTC(), Through: j.Completed()}
	}
	return j
}

// Announced returns a join whose end is in the log.
func (j Join) Announced() Join {
	ending := *j.Ending
	ending.Announced = true
	j.Ending = &ending
	return j
}

// Checked returns a join whose end has left no job behind.
func (j Join) Checked() Join {
	ending := *j.Ending
	ending.Checked = true
	j.Ending = &ending
	return j
}

// waitFor converts the names in a pipeline file to kinds of events.
func waitFor(p pipeline.Pipeline) []events.Kind {
	kinds := make([]events.Kind, 0, len(p.Trainer.WaitFor))
	for _, word := range p.Trainer.WaitFor {
		kinds = append(kinds, events.Awaited(word))
	}
	return kinds
}

// Skipped reports whether a join waits for hyperparameters that its tuner will not search for, and
// returns the event that decides so: the first that named something to tune on. The dispatcher then
// publishes events.NewHParamsReused or events.NewNothingToReuse.
func (j Join) Skipped(p pipeline.Pipeline) (events.Skipped, bool) {
	_, tuned := j.Event(events.KindHParamsReady)
	if j.State != Waiting || tuned || j.Stage(events.FunctionTune).Exists() || j.tuningFailed(p) || !p.AwaitsTuning() || p.Tuner.When.Searches() {
		return events.Skipped{}, false
	}
	for _, e := range j.Events {
		if len(e.Inputs.Examples) > 0 || e.Inputs.TransformGraph != "" {
			return events.Skipped{Pipeline: j.Pipeline, Run: j.Run, Cause: e.Cause, Trace: e.Trace, TraceState: e.TraceState, Stored: e.Stored}, true
		}
	}
	return events.Skipped{}, false
}

// TuningFailed begins the message of a run that has ended because its tuning failed.
const TuningFailed = "tuning failed"

// untuned returns the message of a run that ends because its tuning failed: that it did, and why it
// ends the run.
func (j Join) untuned(ends string) string {
	message := TuningFailed
	if event, _ := j.Event(events.KindTuningFailed); event.Why != "" {
		message += ": " + event.Why
	}
	return message + "; " + ends
}

// maxWhy keeps a join small: the whole message is in the event.
const maxWhy = 300

// whyOf returns the first line of the reason for a failed tuning, "" for any other event.
func whyOf(data events.Data) string {
	failed, ok := data.(*events.TuningFailed)
	if !ok {
		return ""
	}
	why, _, _ := strings.Cut(failed.Message, "\n")
	if len(why) > maxWhy {
		why = why[:maxWhy] + "..."
	}
	return strings.ToValidUTF8(why, "")
}

// Ignored returns why an event of the run that is in the log has no effect on the run, and never
// will have; "" if it has one, or may still have one. The answer follows from the join and the log
// alone, so it need not be stored: a join's state never goes back, and of several events of one
// kind it keeps the one that was stored first. p is the pipeline as it is deployed now; it matters
// while the run waits.
func (j Join) Ignored(p pipeline.Pipeline, event Event) string {
	if j.Has(event) {
		return ""
	}
	if have, there := j.Event(event.Kind); there && have.Sequence < event.Sequence {
		return fmt.Sprintf("the run already has its %s: event %d", event.Kind, have.Sequence)
	}
	switch j.State {
	case Waiting:
		return Meaningless(p, event.Kind)
	case Ended:
		return "the run had ended: " + j.Ending.Message
	}
	return fmt.Sprintf("the run was complete with event %d", j.Completed())
}

// Meaningless returns why no run of the pipeline uses events of a kind; "" if runs do.
func Meaningless(p pipeline.Pipeline, kind events.Kind) string {
	if kind == events.KindHParamsReady && p.Trainer.Hyperparameters == pipeline.HyperparametersNone {
		return "pipeline " + p.Name + " uses no hyperparameters: its trainer.hyperparameters is none"
	}
	return ""
}

// Awaits reports whether runs of the pipeline wait for an event of the kind.
func Awaits(p pipeline.Pipeline, kind events.Kind) bool { return slices.Contains(waitFor(p), kind) }
