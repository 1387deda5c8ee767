package runs

import (
	"fmt"
	"strings"
	"time"

	"github.com/stoker-ml/stoker/events"
	"github.com/stoker-ml/stoker/functions/dispatch"
	"github.com/stoker-ml/stoker/functions/dispatch/join"
)

// The states of a run.
const (
	Waiting   = "waiting" // waits for events
	Held      = "held"    // waits for admission by its pipeline
	Queued    = "queued"  // waits for a worker
	Tuning    = "tuning"  // a worker searches for its hyperparameters
	Running   = "running"
	Trained   = "trained"
	Failed    = "failed"
	Cancelled = "cancelled"
	Expired   = "expired" // the events that it waited for did not arrive
	Unclear   = "unclear" // its join can't be read
)

// States lists all states, in the order in which a run passes through them.
func States() []string {
	return []string{Waiting, Held, Queued, Tuning, Running, Trained, Failed, Cancelled, Expired, Unclear}
}

// Summary is the state of one run: a line of `stoker runs`.
type Summary struct {
	Pipeline string        `json:"pipeline"`
	Run      string        `json:"run"`
	State    string        `json:"state"`
	WaitsFor []events.Kind `json:"waits_for,omitempty"`
	// Class of the workers that may take its job.
	Class    string         `json:"class,omitempty"`
	Position *QueuePosition `json:"queue_position,omitempty"` // if it waits for admission
	Stopping bool           `json:"stopping,omitempty"`
	// How the last attempt at the job ended, if the job is back on the queue.
	Ended *events.Ended `json:"ended,omitempty"`
	Model string        `json:"model,omitempty"`
	// Of its model: metrics, how long the training took, and whether the run got one that existed.
	Metrics map[string]float64 `json:"metrics,omitempty"`
	Seconds float64            `json:"seconds,omitempty"`
	Cached  bool               `json:"cached,omitempty"`
	Error   string             `json:"error,omitempty"`
	// How often its job was attempted, once the run has ended.
	Attempts int `json:"attempts,omitempty"`
	// Hyperparameters of its search or its model, and settings of the training.
	Parameters Parameters `json:"parameters,omitempty"`
	// Of the pipeline, pinned when its events were complete.
	Revision uint64    `json:"revision,omitempty"`
	Started  time.Time `json:"started,omitzero"` // when its first event was stored
	Updated  time.Time `json:"updated"`
}

// Headline returns the state as text for users.
func (r Summary) Headline() string {
	if r.Stopping {
		return r.State + ", stopping"
	}
	return r.State
}

// What returns the most important detail of a run in its state.
func (r Summary) What() string {
	switch r.State {
	case Waiting:
		if len(r.WaitsFor) == 0 {
			return "waits for its first event, or for a dispatcher"
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
		return "a worker is searching for its hyperparameters"
	case Running:
		return "a worker is executing its job"
	case Trained:
		return r.Model
	case Cancelled: // usually the message is only that word
		return strings.TrimLeft(strings.TrimPrefix(FirstLine(r.Error), Cancelled), "; ")
	}
	return FirstLine(r.Error)
}

// Key identifies the run.
func (r Summary) Key() Key { return Key{r.Pipeline, r.Run} }

// Over reports whether a run is in a state that only a retry changes.
func (r Summary) Over() bool {
	switch r.State {
	case Trained, Failed, Cancelled, Expired:
		return true
	}
	return false
}

// QueuePosition is the position of a run that waits for the admission of its pipeline.
type QueuePosition struct {
	Paused bool `json:"paused"`
	Ahead  int  `json:"ahead"` // runs that are admitted first
	why    string
}

func (p *QueuePosition) String() string {
	switch {
	case p == nil:
		return "waits for its job"
	case p.Paused:
		return p.why + ": `stoker resume` resumes it"
	}
	return p.why
}

// LastOutcome is a run's outcome in the log, and its position.
type LastOutcome struct {
	Summary  // the zero Summary if there is no outcome yet
	Sequence uint64
	OfEvent  bool // only an event of the run was refused; the run itself may continue
}

// OutcomeOf returns the outcome in an event of one of events.OutcomeKinds.
func OutcomeOf(recorded events.Recorded) LastOutcome {
	return LastOutcome{Outcome(recorded), recorded.Message.Sequence, !events.EndsRun(recorded.Event)}
}

// Then returns which of two outcomes counts, of which the second is newer: the newer one, but never
// one of a single event after one of the whole run.
func (l LastOutcome) Then(newer LastOutcome) LastOutcome {
	if l.State != "" && !l.OfEvent && newer.OfEvent {
		return l
	}
	return newer
}

// Ends returns the sequence of the event that ended the run; 0 if none has.
func (l LastOutcome) Ends() uint64 {
	if l.OfEvent {
		return 0
	}
	return l.Sequence
}

// Outcome returns the state of a run according to an event with its outcome.
func Outcome(recorded events.Recorded) Summary {
	r := Summary{Pipeline: recorded.Event.Pipeline, Run: recorded.Event.Run, Updated: recorded.Message.Stored}
	switch data := recorded.Event.Data.(type) {
	case *events.ModelTrained:
		r.State, r.Model, r.Metrics, r.Cached = Trained, data.Model.URI, data.Metrics, data.Cached
		r.Seconds, r.Attempts = data.Finished.Sub(data.Started).Seconds(), data.Attempts
	case *events.TrainingFailed:
		r.State, r.Error, r.Attempts = ofFailure(data.Reason, data.Message), data.Message, data.Attempt
	default: // other events are not outcomes
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

// stateOf derives the state of a run: its last outcome, unless its job was retried since, else the
// state of its join. An entry that can't be read is part of the state.
func (x *Index) stateOf(key Key, r *record) Summary {
	state, err := Summary{State: Waiting, Updated: r.since}, error(nil)
	switch {
	case r.damage != nil:
		state, err = Summary{Updated: r.written}, r.damage
	case r.joined:
		state, err = x.joinedState(r)
	default:
		if r.last.State != "" {
			state = r.last.Summary
		}
		if !x.buckets[events.KVJoins].whole {
			err = x.lack(events.KVJoins, dispatch.JoinKey(key.Pipeline, key.Run))
		}
	}
	state.Pipeline, state.Run = key.Pipeline, key.Run
	state.Started, state.Parameters = r.since, r.params
	if r.joined && r.damage == nil {
		state.Revision = r.join.Current().Revision
	}
	if err != nil {
		state.State, state.Error = Unclear, err.Error()
	}
	// It was retried, or one of its events was refused.
	if !state.Over() && r.last.Updated.After(state.Updated) {
		state.Updated = r.last.Updated
	}
	return state
}

func (x *Index) joinedState(r *record) (Summary, error) {
	train := r.join.Stage(events.FunctionTrain)
	if last := r.last; last.State != "" && !last.OfEvent && last.Sequence > train.After {
		lease, err := x.lease(train.Job)
		// An older lease was left by a worker that died.
		if err == nil && lease.Holder != "" && lease.Written.After(last.Updated) {
			last.State, last.Stopping = Running, lease.Cancelled
		}
		return last.Summary, err
	}
	return x.openState(r.join)
}

// openState derives the state of a run from its join. The log has no outcome of its job.
func (x *Index) openState(j join.Join) (Summary, error) {
	state := Summary{Updated: j.Last().Stored}
	if j.State == join.Ended {
		state.State, state.Error, state.Updated = ofFailure(j.Ending.Kind, j.Ending.Message), j.Ending.Message, j.Ending.At
		return state, nil
	}
	stage := j.Current()
	if stage.Function == events.FunctionTrain && stage.Outcome > 0 && stage.Outcome <= x.tail {
		return state, fmt.Errorf("event %d, the outcome of the run, is gone from the log", stage.Outcome)
	}
	spec, err := x.spec(j.Pipeline, stage.Revision)
	if err == nil && j.IsSearching() && spec.Tuner == nil {
		err = fmt.Errorf("revision %d of the pipeline has no tuner", stage.Revision)
	}
	if err != nil {
		return state, fmt.Errorf("run %s of pipeline %s: %w", j.Run, j.Pipeline, err)
	}
	working := Running
	switch {
	case j.IsSearching():
		working, state.Class = Tuning, spec.Search().Resources.Class
	case j.State == join.Waiting:
		state.State, state.WaitsFor = Waiting, j.Missing(spec)
		return state, nil
	default:
		state.Class = spec.Trainer.Resources.Class
	}
	if j.State == join.Complete || stage.Job == "" {
		gate, err := x.admission(j.Pipeline)
		state.State = Held
		if ahead, waits := gate.Ahead(j.Run); waits {
			state.Position = &QueuePosition{Paused: gate.Paused, Ahead: ahead, why: gate.Why(j.Run)}
		}
		return state, err
	}
	lease, err := x.lease(stage.Job)
	state.State, state.Stopping, state.Ended = Queued, lease.Cancelled, lease.Ended
	if lease.Holder != "" {
		state.State, state.Ended = working, nil
	}
	return state, err
}
