package events

import "slices"

// OutcomeKinds returns the kinds of events that may end a run.
func OutcomeKinds() []Kind { return []Kind{KindModelTrained, KindTrainingFailed} }

// EndsJob reports whether an event is the outcome of a run's job.
func EndsJob(f Event) bool {
	return f.Source == Source(FunctionTrain) && slices.Contains(OutcomeKinds(), f.Data.Kind())
}

// EndsRun reports whether an event is the outcome of a run: of its job, or that it ended without
// one. The rejection of one of its events does not end it: the run may continue.
func EndsRun(f Event) bool { return EndsJob(f) || f.ID == EndedID(f.Pipeline, f.Run) }

// CausedBy reports whether an event names another one as its cause.
func CausedBy(f Event, cause Cause) bool {
	return f.Causation != "" && f.Causation == plainText(cause.ID)
}

// EndsRunWithoutJob reports whether the dispatcher published f to end its run without a job: no job
// of that run may have a result.
func EndsRunWithoutJob(f Event) bool {
	return f.Source == dispatchSource && f.ID == EndedID(f.Pipeline, f.Run)
}
