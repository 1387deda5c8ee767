package replay

import (
	"fmt"
	"strings"

	"github.com/stoker-ml/stoker/events"
	"github.com/stoker-ml/stoker/functions/dispatch/join"
	"github.com/stoker-ml/stoker/storage"
)

// known is all there is to know of a run before something is decided about it.
type known struct {
	*history
	state  join.State    // of its join; where the register has none, what it would be by the facts
	lost   bool          // the register has none
	waits  []events.Kind // for what, where it is waiting
	ending string        // why there is no job, where it has ended

	completed uint64  // sequence of the newest fact that counts for it
	held      string  // what keeps it at the pipeline's gate, "" if nothing does
	asked     bool    // Options.Request was served: this run's job is of that request, and something came of it
	model     verdict // of the run's model, where it was trained
	letter    uint64  // the dead letter of its job, 0 for none
}

// decide says what is missing of a run. It is pure, so that what a dry run says is what is done.
func decide(k known, opts Options) Step {
	step := Step{Run: k.run, facts: k.facts(), completed: k.completed, WaitsFor: k.waits}
	if k.lost && k.outcome == nil && len(step.facts) == 0 {
		step.WaitsFor = nil
		return step.leave("it has no fact that counts: one that was refused counts once `stoker dead retry` has handled it again")
	}
	if k.state == join.Waiting && (!k.lost || k.outcome == nil) {
		return step.joined("it waits for facts", k)
	}
	if opts.Force {
		return step.forced(k, opts.Request)
	}
	if data, ok := k.trained(); ok {
		return step.trained(k, data)
	}
	if data, ok := k.failed(); ok {
		return step.leave(failedWhy(data, k.letter))
	}
	return step.unfinished(k)
}

func (s Step) leave(why string) Step {
	s.Action, s.Why = Leave, why
	return s
}

func (s Step) joined(why string, k known) Step {
	s.Action, s.Why = Join, why
	if k.lost {
		s.Why = "its join is lost"
	}
	return s
}

// forced asks for another execution.
func (s Step) forced(k known, request string) Step {
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

func (s Step) trained(k known, data *events.ModelTrained) Step {
	if k.model.whole {
		return s.leave(k.model.why)
	}
	return s.remade(k.model, data, k.lost)
}

// remade makes the model of a fact once more: the same execution, as another generation.
func (s Step) remade(v verdict, data *events.ModelTrained, lost bool) Step {
	s.Action, s.Why, s.rejoin = Train, v.why, lost
	s.makes, _ = storage.ExecutionAt(data.Model.URI)
	s.again = join.Retry{Generation: v.generation, Salt: data.Salt}
	return s
}

// unfinished is a run that has, or had, all it waits for, and of which nothing has come.
func (s Step) unfinished(k known) Step {
	switch {
	case k.state == join.Ended:
		return s.leave("it ended: " + k.ending)
	case k.held != "":
		return s.leave(k.held)
	case k.state == join.Dispatched:
		s.Action, s.Why = Offer, "nothing has come of its job; if the job is still there, this changes nothing"
		return s
	}
	return s.joined("it has all that it waits for, and was given no job", k)
}

func failedWhy(data *events.TrainingFailed, letter uint64) string {
	line, _, _ := strings.Cut(data.Message, "\n")
	why := fmt.Sprintf("it failed: %s: %s", data.Reason, line)
	if data.Reason == events.FailureCancelled {
		why = "it was " + line // cancelled, or superseded by whom
	} else if strings.HasPrefix(line, string(data.Reason)) {
		why = "it failed: " + line
	}
	if letter != 0 {
		why += fmt.Sprintf("; `stoker dead retry %d` tries again", letter)
	}
	return why
}
