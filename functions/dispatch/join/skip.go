package join

import (
	"github.com/stoker-ml/stoker/events"
	"github.com/stoker-ml/stoker/functions/pipeline"
)

// Skipped says whether a join waits for hyperparameters which its tuner will not search for, and for which fact's sake: the first
// that named something to tune on. Whoever decides that a run is not tuned tells it one of events.NewHParamsReused and
// events.NewNothingToReuse.
func (j Join) Skipped(p pipeline.Pipeline) (events.Skipped, bool) {
	_, tuned := j.Fact(events.KindHParamsReady)
	if j.State != Waiting || tuned || j.Tuning != nil || j.tuningFailed(p) || !p.AwaitsTuning() || p.Tuner.When.Searches() {
		return events.Skipped{}, false
	}
	for _, fact := range j.Facts {
		if fact.Kind == events.KindExamplesReady || fact.Kind == events.KindTransformReady {
			return events.Skipped{Pipeline: j.Pipeline, Run: j.Run, Cause: fact.Cause, Trace: fact.Trace, TraceState: fact.TraceState, Stored: fact.Stored}, true
		}
	}
	return events.Skipped{}, false
}
