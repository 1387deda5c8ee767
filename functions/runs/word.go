package runs

import "github.com/stoker-ml/stoker/events"

// LastWord is what the log says has come of a run, and where.
type LastWord struct {
	Told     State // nothing yet, if that has no State
	Sequence uint64
	OfFact   bool // a single fact of the run was refused; the run itself may go on
}

// Word is what one of events.OutcomeKinds tells of its run.
func Word(recorded events.Recorded) LastWord {
	return LastWord{Outcome(recorded), recorded.Message.Sequence, !events.EndsRun(recorded.Fact)}
}

// Then is what counts once a newer word is there: the last one, and one on the whole run more than one on a single fact.
func (l LastWord) Then(newer LastWord) LastWord {
	if l.Told.State != "" && !l.OfFact && newer.OfFact {
		return l
	}
	return newer
}
