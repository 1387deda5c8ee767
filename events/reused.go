package events

import "time"

// Skipped is a run that is not tuned: what led to it, and when that was stored.
type Skipped struct {
	Pipeline   string
	Run        string
	Cause      Cause
	Trace      string
	TraceState string
	Stored     time.Time
}

// NewHParamsReused tells a run that is not tuned to take the hyperparameters that an earlier one was told. Its id follows from
// the run, so that it is told once, whoever finds that tuning is skipped.
func NewHParamsReused(s Skipped, last *HParamsReady) Event {
	data := *last
	data.Reused = true
	data.Request, data.Job, data.JobRequest = Request{}, "", "" // were the earlier run's
	reused, _ := SkippedIDs(s.Pipeline, s.Run)
	return s.event(reused, &data)
}

// NewNothingToReuse tells that a run is not tuned, and that there is nothing it could take instead. Its id follows from the run.
func NewNothingToReuse(s Skipped) Event {
	_, nothing := SkippedIDs(s.Pipeline, s.Run)
	return s.event(nothing, &TuningFailed{Failed{
		Reason:  FailureIncomplete,
		Message: "tuning is skipped, and the pipeline has no earlier hyperparameters to reuse",
	}})
}

// SkippedIDs are those of the events that tell a run that it is not tuned: NewHParamsReused and NewNothingToReuse.
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
