package main

import (
	"strings"
	"time"

	"github.com/stoker-ml/stoker/events"
	"github.com/stoker-ml/stoker/functions/plan"
)

// The states of a run.
const (
	runWaiting   = "waiting" // for facts
	runHeld      = "held"    // at its pipeline's gate
	runQueued    = "queued"  // for a worker
	runTuning    = "tuning"  // a worker searches for its hyperparameters
	runRunning   = "running"
	runTrained   = "trained"
	runFailed    = "failed"
	runCancelled = "cancelled"
	runExpired   = "expired" // the facts it waited for did not come
	runUnclear   = "unclear" // what is known of it can't be read
)

// runState is one line of `stoker runs`.
type runState struct {
	Pipeline string        `json:"pipeline"`
	Run      string        `json:"run"`
	State    string        `json:"state"`
	WaitsFor []events.Kind `json:"waits_for,omitempty"`
	Class    string        `json:"class,omitempty"` // of the workers that may take its job
	Gate     *gatePlace    `json:"gate,omitempty"`  // where it is held
	Stopping bool          `json:"asked_to_stop,omitempty"`
	Model    string        `json:"model,omitempty"`
	Error    string        `json:"error,omitempty"`
	Updated  time.Time     `json:"updated"`
}

// headline is the state for people.
func (r runState) headline() string {
	if r.Stopping {
		return r.State + ", asked to stop"
	}
	return r.State
}

// what is the one thing worth knowing of a run in its state.
func (r runState) what() string {
	switch r.State {
	case runWaiting:
		if len(r.WaitsFor) == 0 {
			return "waits for a fact that starts it, or for a dispatcher"
		}
		kinds := make([]string, len(r.WaitsFor))
		for i, kind := range r.WaitsFor {
			kinds[i] = string(kind)
		}
		return "waits for " + strings.Join(kinds, ", ")
	case runHeld:
		return r.Gate.String()
	case runQueued:
		return "waits for a worker of class " + r.Class
	case runTuning:
		return "a worker searches for its hyperparameters"
	case runRunning:
		return "a worker has it"
	case runTrained:
		return r.Model
	case runCancelled: // mostly the message is that word alone
		return strings.TrimLeft(strings.TrimPrefix(firstLine(r.Error), runCancelled), "; ")
	}
	return firstLine(r.Error)
}

// outcome is the state of a run once something has come of it.
func outcome(recorded events.Recorded) runState {
	r := runState{Pipeline: recorded.Fact.Pipeline, Run: recorded.Fact.Run, Updated: recorded.Message.Stored}
	switch data := recorded.Fact.Data.(type) {
	case *events.ModelTrained:
		r.State, r.Model = runTrained, data.Model.URI
	case *events.TrainingFailed:
		r.State, r.Error = failedState(data.Reason, data.Message), data.Message
	}
	return r
}

func failedState(kind events.FailureKind, message string) string {
	switch {
	case kind == events.FailureCancelled:
		return runCancelled
	case kind == events.FailureIncomplete && !strings.HasPrefix(message, plan.TuningFailed):
		return runExpired
	}
	return runFailed
}
