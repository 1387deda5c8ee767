package tuner

import (
	"context"
	"errors"

	"github.com/stoker-ml/stoker/events"
	"github.com/stoker-ml/stoker/functions/execution"
	"github.com/stoker-ml/stoker/functions/pipeline"
	"github.com/stoker-ml/stoker/functions/worker"
)

// Tuner is the worker.Function that searches for hyperparameters, and an execution.Kind.
type Tuner struct {
	shop *execution.Workshop
	bus  Bus
}

// Bus is what studies need of a letterbox.
type Bus interface {
	events.Studies
	Offer(ctx context.Context, job events.Job) error
	Queued(ctx context.Context, job string) (events.Message, error)
}

// New returns a tuner that works in a workshop, and keeps the logs of its studies on a bus.
func New(shop *execution.Workshop, bus Bus) *Tuner { return &Tuner{shop, bus} }

// Name says that a tuner takes tune jobs.
func (t *Tuner) Name() events.Function { return events.FunctionTune }

// Limits says how often the module may fail. A job that nobody could work on fails for good at once.
func (t *Tuner) Limits(job events.Job) worker.Limits {
	spec, err := specOf(job)
	if err != nil {
		return worker.Limits{Attempts: 1, Crashes: 1}
	}
	search := spec.Search()
	return worker.Limits{Attempts: search.MaxAttempts, Crashes: search.MaxCrashes, Lost: search.MaxLost}
}

// Failed tells of a job that is given up.
func (t *Tuner) Failed(task worker.Task, failure *events.Failure) events.Fact {
	return events.NewJobFailed(task.Job, task.Attempt, failure)
}

// Handle works on one tune job, or sees to it that nothing comes of one that is cancelled.
func (t *Tuner) Handle(ctx context.Context, task worker.Task) ([]events.Fact, error) {
	facts, err := t.shop.Handle(ctx, task, t)
	if failure, failed := errors.AsType[*events.Failure](err); failed && failure.Execution != "" && t.last(task, failure) {
		t.endStudy(ctx, task, failure)
	}
	return facts, err
}

// specOf is a job's pipeline, which has a tuner.
func specOf(job events.Job) (pipeline.Pipeline, error) {
	spec, err := pipeline.FromJSON(job.Spec)
	if err == nil && spec.Tuner == nil {
		err = &events.Invalid{Field: "spec.tuner", Expected: "how to tune, in the pipeline of a tune job"}
	}
	if err != nil {
		return spec, execution.InputFailure(err)
	}
	return spec, nil
}

// TFX's keys of what a Tuner publishes.
const (
	bestKey    = "best_hyperparameters"
	resultsKey = "tuner_results"
)

// Identify reads what the job asks for and lists its inputs, to know which execution it is.
func (t *Tuner) Identify(ctx context.Context, task worker.Task) (execution.Execution, error) {
	spec, err := specOf(task.Job)
	if err != nil {
		return execution.Execution{}, err
	}
	search := spec.Search()
	inputs, err := t.shop.List(ctx, learningFrom(task.Job, search), search.TrainArgs, search.EvalArgs)
	if err != nil {
		return execution.Execution{}, err
	}
	module, err := t.shop.Digest(ctx, spec)
	if err != nil {
		return execution.Execution{}, err
	}
	return t.shop.Execution(task, execution.Known{
		Component: "Tuner", Outputs: outputsOf(search), Spec: spec, Module: module, Inputs: inputs,
		Identity: identityOf(task.Job, spec, module, inputs),
	})
}

// Work makes the search of an execution that nobody has made yet, and returns what was committed.
func (t *Tuner) Work(ctx context.Context, task worker.Task, e execution.Execution) (_ *execution.Result, err error) {
	a, err := t.shop.Attempt(task, e)
	if err != nil {
		return nil, err
	}
	defer a.CloseWith(&err)
	if last, err := t.reuse(ctx, a); last != nil || err != nil {
		return last, err
	}
	l, err := t.open(ctx, task, e)
	if err != nil {
		return nil, err
	}
	if study := l.Now(); study.Settled() && !reopens(study, task) {
		return conclude(ctx, a, l)
	}
	if err := a.StageIn(ctx); err != nil {
		return nil, err
	}
	var done *execution.Result
	err = t.sit(ctx, a, l, func(ctx context.Context, s *seat) (err error) {
		done, err = s.search(ctx)
		return err
	})
	return done, err
}
