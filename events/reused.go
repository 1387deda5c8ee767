package events

import "time"

// Skipped is a run that is not tuned: the event that led to it, and when that was stored.
type Skipped struct {
	Pipeline   string
	Run        string
	Cause      Cause
	Trace      string
	TraceState string
	Stored     time.Time
}

// NewHParamsReused returns the event that gives an untuned run the hyperparameters of an earlier
// one. Its id follows from the run, so that it is published once, whichever process skips the
// tuning.
func NewHParamsReused(s Skipped, last *HParamsReady) Event {
	data := *last
	data.Reused = true
	data.Request, data.Job, data.JobRequest = Request{}, "", "" // these were the earlier run's
	reused, _ := SkippedIDs(s.Pipeline, s.Run)
	return s.event(reused, &data)
}

// NewNothingToReuse returns the event that a run is not tuned and there are no hyperparameters to
// reuse. Its id follows from the run.
func NewNothingToReuse(s Skipped) Event {
	_, nothing := SkippedIDs(s.Pipeline, s.Run)
	return s.event(nothing, &TuningFailed{Failed{
		Reason:  FailureIncomplete,
		Message: "tuning is skipped, and the pipeline has no earlier hyperparameters to reuse",
	}})
}

// SkippedIDs returns the ids of the events of an untuned run: NewHParamsReused and
// NewNothingToReuse.
func SkippedIDs(pipeline, run string) (reused, nothing string) {
	return DerivedID("reused", pipeline, run), DerivedID("nothing to reuse", pipeline, run)
}

func (s Skipped) event(id string, data Data) Event {
	return Event{
		ID:         id,
		Source:     Source(FunctionTune),
		Pipeline:   s.Pipeline,
		Run:        s.Run,
		Time:       s.Stored,
		Causation:  plainText(s.Cause.ID),
		Trace:      plainText(s.Trace),
		TraceState: traceState(s.TraceState),
		Data:       data,
	}
}
