package replay

import (
	"context"
	"errors"

	"github.com/stoker-ml/stoker/events"
	"github.com/stoker-ml/stoker/functions/dispatch"
	"github.com/stoker-ml/stoker/functions/dispatch/join"
	"github.com/stoker-ml/stoker/storage"
)

// needs are the executions whose results a run's job needs; zero for none of Stoker's own.
type needs struct {
	base   storage.Place // whose model it starts from
	search storage.Place // that found its hyperparameters
}

// needsOf returns the needs of a model that was made.
func needsOf(trained *events.ModelTrained) (n needs) {
	n.base, _ = storage.ExecutionAt(trained.BaseModel)
	for _, in := range trained.Inputs {
		if in.Type == "HyperParameters" {
			n.search, _ = storage.ExecutionAt(in.URI)
		}
	}
	return n
}

// evidence gathers what decide needs of a run, and what its job needs.
func (l *survey) evidence(ctx context.Context, h *history) (k evidence, needs needs, err error) {
	k.history, k.completed = h, h.newest()
	if data, ok := h.trained(); ok {
		needs = needsOf(data)
		if k.model, err = verify(ctx, l.store, data); err != nil {
			return k, needs, err
		}
	}
	j, err := dispatch.ReadJoin(ctx, l.bus, h.run.Pipeline, h.run.Run)
	if errors.Is(err, events.ErrNotFound) {
		return k, needs, l.lostJoin(ctx, &k)
	}
	if err != nil {
		return k, needs, err
	}
	if k.state = j.State; k.state == join.Ended {
		k.ending = j.Ending.Message
	}
	k.deadLetter, k.completed = l.deadLetters[j.Stage(events.FunctionTrain).Job], j.Completed()
	if err := l.whatHolds(ctx, j, &k); err != nil {
		return k, needs, err
	}
	if job, err := l.job(ctx, &k, j); err == nil {
		needs.base, _ = storage.ExecutionAt(job.Inputs.BaseModel)
		needs.search, _ = storage.ExecutionAt(job.Inputs.Hyperparameters)
	} else if !errors.Is(err, errNoJob) {
		return k, needs, err
	}
	return k, needs, nil
}

// lostJoin derives a run's join from the events alone.
func (l *survey) lostJoin(ctx context.Context, k *evidence) error {
	k.lost = true
	spec, err := dispatch.Spec(ctx, l.bus, k.run.Pipeline)
	if errors.Is(err, events.ErrNotFound) {
		k.state, k.ending = join.Ended, "its pipeline is not applied"
		return nil
	}
	if err != nil {
		return err
	}
	j := k.past.Join(spec, k.run.Run)
	switch {
	case j.State == join.Ended:
		k.state, k.ending = join.Ended, j.Ending.Message
	case j.Ready(spec):
		k.state = join.Complete
	default:
		k.state, k.waits = join.Waiting, j.Missing(spec)
	}
	return nil
}

// whatHolds finds what a run that has no job waits for: events, or admission.
func (l *survey) whatHolds(ctx context.Context, j join.Join, k *evidence) error {
	switch j.State {
	case join.Waiting:
		spec, err := dispatch.Spec(ctx, l.bus, j.Pipeline)
		k.waits = j.Missing(spec)
		return err
	case join.Complete:
		gate, err := l.gate(ctx, j.Pipeline)
		k.held = gate.Why(j.Run)
		return err
	}
	return nil
}

func (l *survey) gate(ctx context.Context, pipeline string) (join.Admission, error) {
	if gate, ok := l.gates[pipeline]; ok {
		return gate, nil
	}
	gate, err := dispatch.ReadAdmission(ctx, l.bus, pipeline)
	l.gates[pipeline] = gate
	return gate, err
}

var errNoJob = errors.New("it has no job yet")

// job is the job that the run would get. It also finds out whether the job that opts ask for is
// done already.
func (l *survey) job(ctx context.Context, k *evidence, j join.Join) (events.Job, error) {
	if j.State != join.Complete && j.State != join.Dispatched {
		return events.Job{}, errNoJob
	}
	again := join.Retry{}
	if l.opts.Force {
		again = forced(k.run, l.opts.Request)
	}
	job, err := l.dispatcher.PlanRetry(ctx, k.run.Pipeline, k.run.Run, again)
	if err != nil {
		return job, err
	}
	data, trained := k.trained()
	k.asked = trained && data.Salt == job.Salt || j.Current().Job == job.ID && k.deadLetter != 0
	return job, nil
}

// forced is how the job of a forced run differs. Its salt is the run's own: two runs of one request
// are two executions, as they are for a pipeline without a cache.
func forced(run Run, request string) join.Retry {
	return join.Retry{Salt: events.DerivedID("replay", request, run.Pipeline, run.Run), Request: request}
}
