package runs

import (
	"fmt"
	"time"

	"github.com/stoker-ml/stoker/events"
	"github.com/stoker-ml/stoker/functions/dispatch/join"
	"github.com/stoker-ml/stoker/functions/pipeline"
)

// Lease is the entry of a job in events.RegisterLeases; the zero Lease where there is none.
type Lease struct {
	events.Lease
	Written time.Time // by the bus's clock
}

// Known is what can be asked for about runs. Each question is asked only where a run's state depends on it.
type Known interface {
	// Spec is a pipeline at a revision, as dispatch.SpecAt has it: at revision 0 as it is deployed.
	Spec(pipeline string, revision uint64) (pipeline.Pipeline, error)
	// Gate is a pipeline's admission; an open one where there is none.
	Gate(pipeline string) (join.Admission, error)
	// Lease is that of a job.
	Lease(job string) (Lease, error)
}

// Of is the state of a run: what was told of it last, unless its job was asked for again since. With an error comes what is known all
// the same.
func Of(j join.Join, last LastWord, known Known) (State, error) {
	if last.Told.State == "" || last.OfFact || last.Sequence <= j.Stage(events.FunctionTrain).After {
		return byJoin(j, known)
	}
	lease, err := known.Lease(j.Stage(events.FunctionTrain).Job)
	if err == nil && lease.Holder != "" && lease.Written.After(last.Told.Updated) { // an older one was left behind by a worker that died
		last.Told.State, last.Told.Stopping = Running, lease.Cancelled
	}
	return last.Told, err
}

// byJoin says how far a run is by its join. What has come of its job, the log knows.
func byJoin(j join.Join, known Known) (State, error) {
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

// tuned says how far the tuning is that a run waits for.
func tuned(j join.Join, state State, known Known) (State, error) {
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

func held(state State, known Known) (State, error) {
	gate, err := known.Gate(state.Pipeline)
	state.State, state.Gate = Held, placeAt(gate, state.Run)
	return state, err
}

// working is the state of a run whose job is on the queue, or in somebody's hands.
func working(state State, inHands, job string, known Known) (State, error) {
	lease, err := known.Lease(job)
	state.State, state.Stopping, state.Ended = Queued, lease.Cancelled, lease.Ended
	if lease.Holder != "" {
		state.State, state.Ended = inHands, nil
	}
	return state, err
}
