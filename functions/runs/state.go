package runs

import (
	"fmt"
	"strings"
	"time"

	"github.com/stoker-ml/stoker/events"
	"github.com/stoker-ml/stoker/functions/dispatch/join"
)

// The states of a run.
const (
	Waiting   = "waiting" // for events
	Held      = "held"    // for admission by its pipeline
	Queued    = "queued"  // for a worker
	Tuning    = "tuning"  // a worker searches for its hyperparameters
	Running   = "running"
	Trained   = "trained"
	Failed    = "failed"
	Cancelled = "cancelled"
	Expired   = "expired" // the events it waited for did not come
	Unclear   = "unclear" // its join can't be read
)

// States lists them all, in the order in which a run passes through them.
func States() []string {
	return []string{Waiting, Held, Queued, Tuning, Running, Trained, Failed, Cancelled, Expired, Unclear}
}

// State is one run: a line of `stoker runs`.
type State struct {
	Pipeline string         `json:"pipeline"`
	Run      string         `json:"run"`
	State    string         `json:"state"`
	WaitsFor []events.Kind  `json:"waits_for,omitempty"`
	Class    string         `json:"class,omitempty"`          // of the workers that may take its job
	Position *QueuePosition `json:"queue_position,omitempty"` // if it is held
	Stopping bool           `json:"stopping,omitempty"`
	Ended    *events.Ended  `json:"ended,omitempty"` // how the last attempt ended, of a job that is back on the queue
	Model    string         `json:"model,omitempty"`
	Error    string         `json:"error,omitempty"`
	Updated  time.Time      `json:"updated"`
}

// Headline is the state for people.
func (r State) Headline() string {
	if r.Stopping {
		return r.State + ", stopping"
	}
	return r.State
}

// What is the most important detail of a run in its state.
func (r State) What() string {
	switch r.State {
	case Waiting:
		if len(r.WaitsFor) == 0 {
			return "waits for a fact that starts it, or for a dispatcher"
		}
		kinds := make([]string, len(r.WaitsFor))
		for i, kind := range r.WaitsFor {
			kinds[i] = string(kind)
		}
		return "waits for " + strings.Join(kinds, ", ")
	case Held:
		return r.Position.String()
	case Queued:
		if r.Ended != nil {
			return fmt.Sprintf("waits for a worker of class %s, after attempt %d: %s", r.Class, r.Ended.Attempt, FirstLine(r.Ended.Why))
		}
		return "waits for a worker of class " + r.Class
	case Tuning:
		return "a worker searches for its hyperparameters"
	case Running:
		return "a worker has it"
	case Trained:
		return r.Model
	case Cancelled: // mostly the message is that word alone
		return strings.TrimLeft(strings.TrimPrefix(FirstLine(r.Error), Cancelled), "; ")
	}
	return FirstLine(r.Error)
}

// Outcome is the state of a run by an event with its outcome.
func Outcome(recorded events.Recorded) State {
	r := State{Pipeline: recorded.Event.Pipeline, Run: recorded.Event.Run, Updated: recorded.Message.Stored}
	switch data := recorded.Event.Data.(type) {
	case *events.ModelTrained:
		r.State, r.Model = Trained, data.Model.URI
	case *events.TrainingFailed:
		r.State, r.Error = ofFailure(data.Reason, data.Message), data.Message
	}
	return r
}

func ofFailure(kind events.FailureKind, message string) string {
	switch {
	case kind == events.FailureCancelled:
		return Cancelled
	case kind == events.FailureIncomplete && !strings.HasPrefix(message, join.TuningFailed):
		return Expired
	}
	return Failed
}

// Over reports whether a run is in a state that only a retry changes.
func (r State) Over() bool {
	switch r.State {
	case Trained, Failed, Cancelled, Expired:
		return true
	}
	return false
}
