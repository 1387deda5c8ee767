package replay

import (
	"context"
	"errors"
	"fmt"

	"github.com/stoker-ml/stoker/events"
	"github.com/stoker-ml/stoker/functions/dispatch/join"
	"github.com/stoker-ml/stoker/functions/runs"
	"github.com/stoker-ml/stoker/storage"
)

// needs are Stoker's executions whose results a run's job needs; zero for none.
type needs struct {
	base   storage.Place // made the model that it starts from
	search storage.Place // found its hyperparameters
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

// timelines are what the log holds of all runs.
type timelines struct {
	*runs.Snapshot
	made map[storage.Place]*events.Recorded // the newest ModelTrained of an execution
	// The newest HParamsReady of an execution, except those that reuse it.
	found  map[storage.Place]*events.Recorded
	latest map[string]Run // by pipeline: the run whose model was announced last
}

// readLog reads the log once. Invalid events belong to no run: they are dead letters.
func readLog(ctx context.Context, bus runs.Source) (timelines, error) {
	t := timelines{
		Snapshot: runs.Open(bus, runs.Options{Timelines: true}),
		made:     map[storage.Place]*events.Recorded{}, found: map[storage.Place]*events.Recorded{}, latest: map[string]Run{},
	}
	return t, t.ReadLog(ctx, events.Query{}, func(recorded events.Recorded) {
		switch data := recorded.Event.Data.(type) {
		case *events.ModelTrained:
			t.latest[recorded.Event.Pipeline] = Run{Pipeline: recorded.Event.Pipeline, Run: recorded.Event.Run}
			if made, ok := storage.ExecutionAt(data.Model.URI); ok {
				t.made[made] = &recorded
			}
		case *events.HParamsReady:
			if by, ok := storage.ExecutionAt(data.Hyperparameters); ok && !data.Reused && recorded.Event.Source == events.Source(events.FunctionTune) {
				t.found[by] = &recorded
			}
		default: // other events name no artifact of a job
		}
	})
}

// failureOf returns a run's last outcome if that is a failure.
func failureOf(t *runs.Timeline) *events.TrainingFailed {
	if t.Outcome == nil {
		return nil
	}
	data, _ := t.Outcome.Event.Data.(*events.TrainingFailed)
	return data
}

// counting returns the sequences of the events that a join can be made from. Refused events are
// dead letters, and are not handled again.
func counting(t *runs.Timeline) (all []uint64) {
	for _, event := range t.Past.Events(0) {
		all = append(all, event.Sequence)
	}
	return all
}

// newest returns the sequence of the last of them, 0 if there are none.
func newest(t *runs.Timeline) uint64 {
	if all := counting(t); len(all) > 0 {
		return all[len(all)-1]
	}
	return 0
}

// evidence gathers what decide needs to know of a run, and what the run's job needs.
func (l *survey) evidence(ctx context.Context, run Run) (k evidence, needs needs, err error) {
	k.run, k.Timeline = run, l.log.Timeline(run)
	k.completed = newest(k.Timeline)
	if data := k.Trained(); data != nil {
		needs = needsOf(data)
		if k.model, err = verify(ctx, l.store, data); err != nil {
			return k, needs, err
		}
	}
	j, err := l.log.Join(ctx, run)
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
	applied, err := l.log.ReadPipeline(ctx, k.run.Pipeline, 0)
	if errors.Is(err, events.ErrNotFound) {
		k.state, k.ending = join.Ended, "its pipeline is not applied"
		return nil
	}
	if err != nil {
		return err
	}
	j := k.Past.Join(applied.Spec, k.run.Run)
	switch {
	case j.State == join.Ended:
		k.state, k.ending = join.Ended, j.Ending.Message
	case j.Ready(applied.Spec):
		k.state = join.Complete
	default:
		k.state, k.waits = join.Waiting, j.Missing(applied.Spec)
	}
	return nil
}

// whatHolds finds what a run without a job waits for: events, or admission.
func (l *survey) whatHolds(ctx context.Context, j join.Join, k *evidence) error {
	switch j.State {
	case join.Waiting:
		applied, err := l.log.ReadPipeline(ctx, j.Pipeline, 0)
		k.waits = j.Missing(applied.Spec)
		return err
	case join.Complete:
		gate, err := l.log.ReadAdmission(ctx, j.Pipeline)
		k.held = gate.Why(j.Run)
		return err
	}
	return nil
}

var errNoJob = errors.New("it has no job yet")

// job returns the job that the run would get. It also finds out whether the job that opts ask for
// is done already.
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
	data := k.Trained()
	k.asked = data != nil && data.Salt == job.Salt || j.Current().Job == job.ID && k.deadLetter != 0
	return job, nil
}

// forced returns how the job of a forced run differs. The salt is the run's own: two runs of one
// request are two executions, as for a pipeline without a cache.
func forced(run Run, request string) join.Retry {
	return join.Retry{Salt: events.DerivedID("replay", request, run.Pipeline, run.Run), Request: request}
}

// modelState is what the store holds of a model that an event names.
type modelState struct {
	whole      bool
	why        string
	generation int // the least generation that a new one must have to be announced
}

// verify checks that the model is as it was announced: its execution's commit names the same
// attempt, and every object in the manifest exists with its size and ETag.
func verify(ctx context.Context, store storage.Store, data *events.ModelTrained) (modelState, error) {
	next := modelState{generation: data.Generation + 1}
	ref, err := storage.ParseRef(data.Model.URI)
	if err != nil {
		return next, err
	}
	place, ok := storage.PlaceOf(ref)
	if !ok {
		return modelState{whole: true, why: "its model is at an address that Stoker did not create"}, nil
	}
	commit, _, err := storage.Committed(ctx, store, place.Root, place.Execution)
	switch {
	case errors.Is(err, storage.ErrNotFound):
		next.why = "its model and its commit are gone"
	case errors.Is(err, storage.ErrIncomplete):
		next.why = "its model is incomplete: " + err.Error()
		next.generation = max(next.generation, commit.Generation+1)
	case err != nil:
		return next, fmt.Errorf("verify %s: %w", ref, err)
	case commit.Cancelled:
		next.why = "its execution was cancelled afterwards"
	case commit.Attempt != place.Attempt:
		next.why = "its model was trained again, without an event for this run"
		next.generation = max(next.generation, commit.Generation)
	default:
		return modelState{whole: true, why: "its model is complete"}, nil
	}
	return next, nil
}
