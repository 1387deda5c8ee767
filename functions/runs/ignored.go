package runs

import (
	"github.com/stoker-ml/stoker/events"
	"github.com/stoker-ml/stoker/functions/dispatch/join"
	"github.com/stoker-ml/stoker/functions/pipeline"
)

// RunEvent is what decides whether a run ignored one of its events.
type RunEvent struct {
	id, refusal string // of the event, and of the one that would announce its refusal
	pinned      join.Event
	counts      bool // it is of a kind that runs take
}

// NewRunEvent keeps of an event in the log what Ignored needs.
func NewRunEvent(recorded events.Recorded) RunEvent {
	e := RunEvent{id: recorded.Event.ID, refusal: events.RefusedID(recorded.Event)}
	e.pinned, e.counts = join.EventOf(recorded)
	return e
}

// Ignored returns for each event of a run, all that the log holds, why it has no effect on the run;
// "" for one that has, or may still have. p is the pipeline as it is applied now; the zero Pipeline
// if there is none. The dispatcher logged the same when it handled the event.
func Ignored(j join.Join, p pipeline.Pipeline, all []RunEvent) []string {
	ids := map[string]bool{}
	for _, e := range all {
		ids[e.id] = true
	}
	why := make([]string, len(all))
	for i, e := range all {
		switch {
		case !e.counts:
		case ids[e.refusal] && !j.Has(e.pinned):
			why[i] = "it was refused"
		default:
			why[i] = j.Ignored(p, e.pinned)
		}
	}
	return why
}
