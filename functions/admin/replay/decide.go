package replay

import (
	"fmt"
	"strings"

	"github.com/stoker-ml/stoker/events"
	"github.com/stoker-ml/stoker/functions/dispatch/join"
	"github.com/stoker-ml/stoker/functions/runs"
	"github.com/stoker-ml/stoker/storage"
)

// evidence is everything that a decision about a run is based on.
type evidence struct {
	*runs.Timeline
	run    Run
	state  join.State    // of its join; if the bucket has none, what the events imply
	lost   bool          // the bucket has none
	waits  []events.Kind // kinds of events that it waits for, if it is waiting
	ending string        // why there is no job, if it has ended

	completed  uint64     // sequence of the newest event that counts for it
	held       string     // why it is not admitted, "" if it is
	asked      bool       // the run's job is of Options.Request, and has an outcome
	model      modelState // of the run's model, if it was trained
	deadLetter uint64     // the dead letter of its job, 0 for none
}

// decide returns what a run lacks. It is pure, so that a dry run prints what a replay does.
func decide(k evidence, opts Options) Step {
	step := Step{Run: k.run, events: counting(k.Timeline), completed: k.completed, WaitsFor: k.waits}
	if k.lost && k.Outcome == nil && len(step.events) == 0 {
		step.WaitsFor = nil
		return step.leave("it has no valid event: retry refused events with `stoker dead retry`")
	}
	if k.state == join.Waiting && (!k.lost || k.Outcome == nil) {
		return step.joined("it waits for events", k)
	}
	if opts.Force {
		return step.forced(k, opts.Request)
	}
	if data := k.Trained(); data != nil {
		return step.trained(k, data)
	}
	if data := failureOf(k.Timeline); data != nil {
		return step.leave(failedWhy(data, k))
	}
	return step.unfinished(k)
}

func (s Step) leave(why string) Step {
	s.Action, s.Why = Leave, why
	return s
}

func (s Step) joined(why string, k evidence) Step {
	s.Action, s.Why = Join, why
	if k.lost {
		s.Why = "its join is lost"
	}
	return s
}

// forced returns the step that makes another execution.
func (s Step) forced(k evidence, request string) Step {
	switch {
	case k.state == join.Ended:
		return s.leave("it ended before it had a job: " + k.ending)
	case k.asked:
		return s.leave("request " + request + " was served")
	}
	s.Action, s.Why, s.rejoin = Force, "request "+request, k.lost
	s.again = forced(s.Run, request)
	return s
}

func (s Step) trained(k evidence, data *events.ModelTrained) Step {
	if k.model.whole {
		return s.leave(k.model.why)
	}
	return s.remade(k.model, data, k.lost)
}

// remade returns the step that makes the model of an event once more: the same execution, as
// another generation.
func (s Step) remade(v modelState, data *events.ModelTrained, lost bool) Step {
	s.Action, s.Why, s.rejoin = Train, v.why, lost
	s.makes, _ = storage.ExecutionAt(data.Model.URI)
	s.again = join.Retry{Generation: v.generation, Salt: data.Salt}
	return s
}

// unfinished decides about a run that has, or had, everything it waits for, and has no outcome.
func (s Step) unfinished(k evidence) Step {
	switch {
	case k.state == join.Ended:
		return s.leave("it ended: " + k.ending)
	case k.held != "":
		return s.leave(k.held)
	case k.state == join.Dispatched:
		s.Action, s.Why = Offer, "its job has no outcome; if the job still exists, this changes nothing"
		return s
	}
	return s.joined("its events are complete, but it has no job", k)
}

func failedWhy(data *events.TrainingFailed, k evidence) string {
	line, _, _ := strings.Cut(data.Message, "\n")
	why := fmt.Sprintf("it failed: %s: %s", data.Reason, line)
	if data.Reason == events.FailureCancelled {
		why = "it was " + line // it was cancelled, or superseded by another run
	} else if strings.HasPrefix(line, string(data.Reason)) {
		why = "it failed: " + line
	}
	switch {
	case k.deadLetter != 0 && k.Timeline.EndedWithoutJob():
		why += "; `stoker runs rerun` starts it again"
	case k.deadLetter != 0:
		why += fmt.Sprintf("; `stoker dead retry %d` tries again", k.deadLetter)
	}
	return why
}
