package events

import "fmt"

// SourceRerun is the CloudEvents source of events that start the inputs of a run again.
const SourceRerun = "/stoker/rerun"

// NewRerun returns an event of one run as that of another, with the first as Causation. With force
// it requests a new training, without it none, whatever the first event requested. Its id follows
// from both runs, the first event and force, so publishing the same again adds nothing.
func NewRerun(of Event, run string, force bool) Event {
	kind := string(of.Data.Kind())
	return Event{
		ID:     DerivedID("rerun", kind, of.Source, of.ID, of.Pipeline, of.Run, run, fmt.Sprint(force)),
		Source: SourceRerun, Pipeline: of.Pipeline, Run: run, Causation: plainText(of.ID), Data: forRerun(of.Data, force),
	}
}

// forRerun returns a copy of data that requests a new training, or none, and answers no job.
func forRerun(data Data, force bool) Data {
	copied, _ := WithForce(data, force)
	if answer := answerOf(copied); answer != nil {
		*answer = Answer{} // it was the first run's
	}
	return copied
}

// FoundByStoker reports whether an event was published by one of Stoker's own functions, about its
// result or decision.
func FoundByStoker(f Event) bool {
	return f.Source == dispatchSource || f.Source == Source(FunctionTrain) || f.Source == Source(FunctionTune) || f.Source == Source(FunctionTrial)
}
