package events

import "fmt"

// SourceRerun is the CloudEvents source of events that start the inputs of a run again.
const SourceRerun = "/stoker/rerun"

// NewRerun is an event of one run as that of another, which Causation names. It asks for a training anew with force, and for none without,
// whatever the first event asked for. Its id follows from both runs, the first event and force: who publishes the same again adds nothing.
func NewRerun(of Event, run string, force bool) Event {
	kind := string(of.Data.Kind())
	return Event{
		ID:     DerivedID("rerun", kind, of.Source, of.ID, of.Pipeline, of.Run, run, fmt.Sprint(force)),
		Source: SourceRerun, Pipeline: of.Pipeline, Run: run, Causation: plainText(of.ID), Data: forRerun(of.Data, force),
	}
}

// forRerun is a copy of data that asks for a training anew, or for none, and answers no job.
func forRerun(data Data, force bool) Data {
	copied, _ := WithForce(data, force)
	if answer := answerOf(copied); answer != nil {
		*answer = Answer{} // which was the first run's
	}
	return copied
}

// FoundByStoker reports whether an event was published by Stoker's own functions, of what they found or decided.
func FoundByStoker(f Event) bool {
	return f.Source == dispatchSource || f.Source == Source(FunctionTrain) || f.Source == Source(FunctionTune) || f.Source == Source(FunctionTrial)
}
