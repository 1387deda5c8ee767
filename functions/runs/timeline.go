package runs

import (
	"time"

	"github.com/stoker-ml/stoker/events"
	"github.com/stoker-ml/stoker/functions/dispatch/join"
)

// Timeline is what the log holds of one run, in order.
type Timeline struct {
	Events  []Event
	Past    join.Past        // the part that the run's join follows from
	Outcome *events.Recorded // the last event that ended the run; nil if there is none
	// The last failure, with a log if any had one; nil once a model was trained after it.
	Failed  *events.Failed
	HParams *events.HParamsReady // the last one; nil if there is none
}

// EndedWithoutJob reports whether the dispatcher has ended the run. A retry of its dead letters
// then does nothing.
func (t *Timeline) EndedWithoutJob() bool {
	return t.Outcome != nil && events.EndsRunWithoutJob(t.Outcome.Event)
}

// Event is one event of a run.
type Event struct {
	Sequence uint64      `json:"sequence"`
	Kind     events.Kind `json:"kind"`
	ID       string      `json:"id"`
	Source   string      `json:"source"`
	Stored   time.Time   `json:"stored"`
	// Why it has no effect on the run; set by Index.Ignored.
	Ignored string `json:"ignored,omitempty"`

	refusal string // id of the event that would announce its refusal
	pinned  join.Event
	counts  bool // runs use events of its kind
}

func (t *Timeline) add(recorded events.Recorded) {
	event := recorded.Event
	e := Event{
		Sequence: recorded.Message.Sequence, Kind: event.Data.Kind(), ID: event.ID, Source: event.Source, Stored: recorded.Message.Stored,
		refusal: events.RefusedID(event),
	}
	e.pinned, e.counts = join.EventOf(recorded)
	t.Events = append(t.Events, e)
	t.Past.Add(recorded)
	if events.EndsRun(event) {
		t.Outcome = &recorded
	}
	if failed := events.FailedOf(event.Data); failed != nil {
		t.fail(*failed)
	}
	switch data := event.Data.(type) {
	case *events.ModelTrained:
		t.Failed = nil
	case *events.HParamsReady:
		t.HParams = data
	default: // other events are in Events and in Past
	}
}

func (t *Timeline) fail(failed events.Failed) {
	if t.Failed != nil && failed.LogTail == "" {
		failed.Log, failed.LogTail = t.Failed.Log, t.Failed.LogTail
	}
	t.Failed = &failed
}

// Trained returns the run's last outcome if that is a model.
func (t *Timeline) Trained() *events.ModelTrained {
	if t.Outcome == nil {
		return nil
	}
	data, _ := t.Outcome.Event.Data.(*events.ModelTrained)
	return data
}

// Last returns the sequence of the newest event; 0 if there is none.
func (t *Timeline) Last() uint64 {
	if len(t.Events) == 0 {
		return 0
	}
	return t.Events[len(t.Events)-1].Sequence
}

// Find returns the event in the log that has the kind and the id of another one.
func (t *Timeline) Find(event events.Event) (Event, bool) {
	for _, e := range t.Events {
		if e.ID == event.ID && e.Kind == event.Data.Kind() {
			return e, true
		}
	}
	return Event{}, false
}
