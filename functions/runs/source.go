package runs

import (
	"fmt"
	"time"

	"github.com/stoker-ml/stoker/events"
	"github.com/stoker-ml/stoker/functions/dispatch/join"
	"github.com/stoker-ml/stoker/functions/pipeline"
)

// Lease is the entry of a job in events.RegisterLeases; the zero Lease if there is none.
type Lease struct {
	events.Lease
	Written time.Time // by the bus's clock
}

// Source reads what a run's state depends on. Each method is only called if the state depends on
// it.
type Source interface {
	// Spec is a pipeline at a revision, as dispatch.SpecAt has it: at revision 0 as it is deployed.
	Spec(pipeline string, revision uint64) (pipeline.Pipeline, error)
	// Gate is a pipeline's admission; an open one if there is none.
	Gate(pipeline string) (join.Admission, error)
	// Lease is that of a job.
	Lease(job string) (Lease, error)
}

// Of is the state of a run: its last outcome, unless its job was retried since. With an error it
// returns the part of the state that is known.
func Of(j join.Join, last LastOutcome, known Source) (State, error) {
	if last.State.State == "" || last.OfEvent || last.Sequence <= j.Stage(events.FunctionTrain).After {
		return byJoin(j, known)
	}
	lease, err := known.Lease(j.Stage(events.FunctionTrain).Job)
	if err == nil && lease.Holder != "" && lease.Written.After(last.State.Updated) { // an older one was left by a worker that died
		last.State.State, last.State.Stopping = Running, lease.Cancelled
	}
	return last.State, err
}

// byJoin is the state of a run by its join. Outcomes of its job are in the log.
func byJoin(j join.Join, known Source) (State, error) {
	state := State{Pipeline: j.Pipeline, Run: j.Run, Updated: j.Last().Stored}
	if j.State == join.Ended {
		state.State, state.Error, state.Updated = ofFailure(j.Ending.Kind, j.Ending.Message), j.Ending.Message, j.Ending.At
		return state, nil
	}
	if j.IsSearching() {
		return tuned(j, state, known)
	}
	stage := j.Current()
	spec, err := known.Spec(j.Pipeline, stage.Revision)
	if err != nil {
		return state, fmt.Errorf("run %s of pipeline %s: %w", j.Run, j.Pipeline, err)
	}
	switch j.State {
	case join.Waiting:
		state.State, state.WaitsFor = Waiting, j.Missing(spec)
		return state, nil
	case join.Complete:
		state.Class = spec.Trainer.Resources.Class
		return held(state, known)
	}
	state.Class = spec.Trainer.Resources.Class
	return working(state, Running, stage.Job, known)
}

// tuned is the state of a run that waits for its tuning.
func tuned(j join.Join, state State, known Source) (State, error) {
	search := j.Current()
	spec, err := known.Spec(j.Pipeline, search.Revision)
	if err == nil && spec.Tuner == nil {
		err = fmt.Errorf("revision %d of the pipeline has no tuner", search.Revision)
	}
	if err != nil {
		return state, fmt.Errorf("run %s of pipeline %s: %w", j.Run, j.Pipeline, err)
	}
	state.Class = spec.Search().Resources.Class
	if search.Job == "" {
		return held(state, known)
	}
	return working(state, Tuning, search.Job, known)
}

func held(state State, known Source) (State, error) {
	gate, err := known.Gate(state.Pipeline)
	state.State, state.Position = Held, positionIn(gate, state.Run)
	return state, err
}

// working is the state of a run whose job is on the queue, or held by a worker.
func working(state State, inHands, job string, known Source) (State, error) {
	lease, err := known.Lease(job)
	state.State, state.Stopping, state.Ended = Queued, lease.Cancelled, lease.Ended
	if lease.Holder != "" {
		state.State, state.Ended = inHands, nil
	}
	return state, err
}
