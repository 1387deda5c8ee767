package runs

import "github.com/stoker-ml/stoker/events"

// LastOutcome is a run's outcome in the log, and where it is.
type LastOutcome struct {
	State    State // the zero State if there is no outcome yet
	Sequence uint64
	OfEvent  bool // a single event of the run was refused; the run itself may continue
}

// OutcomeOf is the outcome in an event of one of events.OutcomeKinds.
func OutcomeOf(recorded events.Recorded) LastOutcome {
	return LastOutcome{Outcome(recorded), recorded.Message.Sequence, !events.EndsRun(recorded.Event)}
}

// Then is what counts once a newer outcome is there: the last one, but one of the whole run before
// one of a single event.
func (l LastOutcome) Then(newer LastOutcome) LastOutcome {
	if l.State.State != "" && !l.OfEvent && newer.OfEvent {
		return l
	}
	return newer
}
