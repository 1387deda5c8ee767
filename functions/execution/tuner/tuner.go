package tuner

import (
	"context"
	"errors"

	"github.com/stoker-ml/stoker/compute/tune"
	"github.com/stoker-ml/stoker/events"
	"github.com/stoker-ml/stoker/functions/execution"
	"github.com/stoker-ml/stoker/functions/pipeline"
	"github.com/stoker-ml/stoker/functions/runs/result"
	"github.com/stoker-ml/stoker/functions/runs/studies"
	"github.com/stoker-ml/stoker/functions/worker"
)

// Tuner is the worker.Function that searches for hyperparameters, and an execution.Component.
type Tuner struct {
	executor *execution.Executor
	bus      Bus
}

// Bus is the part of a bus that studies need.
type Bus interface {
	events.StudyLog
	Enqueue(ctx context.Context, job events.Job) error
	Queued(ctx context.Context, job string) (events.Message, error)
}

// New returns a tuner that executes its jobs with x. It keeps the logs of its studies on a bus.
func New(x *execution.Executor, bus Bus) *Tuner { return &Tuner{x, bus} }

// Name returns the function whose jobs a tuner handles: tune.
func (t *Tuner) Name() events.Function { return events.FunctionTune }

// Handle works on one tune job, or ensures that a cancelled one has no result. It ends the study of
// a job that is given up.
func (t *Tuner) Handle(ctx context.Context, task worker.Task) ([]events.Event, error) {
	evs, err := t.executor.Execute(ctx, task, t)
	if failure, failed := errors.AsType[*events.Failure](err); failed && failure.Execution != "" && t.last(task, failure) {
		t.endStudy(ctx, task, failure)
	}
	return evs, err
}

// Limits returns how often the module may fail. A job that no worker could execute is not retried.
func (t *Tuner) Limits(job events.Job) worker.Limits {
	spec, err := specOf(job)
	if err != nil {
		return worker.Limits{Attempts: 1, Crashes: 1}
	}
	search := spec.Search()
	return worker.Limits{Attempts: search.MaxAttempts, Crashes: search.MaxCrashes, Lost: search.MaxLost}
}

// Failed makes the event of a job that is given up.
func (t *Tuner) Failed(task worker.Task, failure *events.Failure) events.Event {
	return events.NewJobFailed(task.Job, task.Attempt, failure)
}

// specOf returns a job's pipeline, which has a tuner.
func specOf(job events.Job) (pipeline.Pipeline, error) {
	spec, err := pipeline.FromJSON(job.Spec)
	if err == nil && spec.Tuner == nil {
		err = &events.Invalid{Field: "spec.tuner", Expected: "a tuner section in the pipeline of a tune job"}
	}
	if err != nil {
		return spec, execution.InputFailure(err)
	}
	return spec, nil
}

// TFX's keys of a Tuner's outputs.
const (
	bestKey    = "best_hyperparameters"
	resultsKey = "tuner_results"
)

// Describe parses the job's pipeline.
func (t *Tuner) Describe(job events.Job) (execution.Description, error) {
	spec, err := specOf(job)
	if err != nil {
		return execution.Description{}, err
	}
	search := spec.Search()
	return execution.Description{
		Component: "Tuner", Outputs: outputsOf(search), Spec: spec, Reads: learningFrom(job, search).Inputs,
		Args: []pipeline.Args{search.TrainArgs, search.EvalArgs}, Resources: search.Resources,
	}, nil
}

// Identity returns everything that determines a search.
func (t *Tuner) Identity(e execution.Execution) any {
	return identityOf(e.Job, e.Spec, e.Module, e.Inputs)
}

// Start opens the log of the search's study.
func (t *Tuner) Start(ctx context.Context, a *execution.Attempt) (execution.Work, error) {
	l, err := t.open(ctx, a.Task, a.Execution)
	if err != nil {
		return nil, err
	}
	return &tuning{Attempt: a, tuner: t, log: l}, nil
}

// tuning is one attempt at a tune job.
type tuning struct {
	*execution.Attempt
	tuner *Tuner
	log   *studies.Log
	alone bool // the module has searched by itself, and has written the results; there is no study
}

// Settled reports whether the study is over and none of its trials runs, unless this job asks for
// it again.
func (t *tuning) Settled() bool {
	study := t.log.Now()
	return study.Settled() && !reopens(study, t.Task)
}

// Resumes reports whether there is no study yet: a module that searches by itself resumes from what
// it has saved.
func (t *tuning) Resumes() bool {
	study := t.log.Now()
	return study.Entries == 0
}

// Run searches until the module's own search has ended, or the study is over and none of its trials
// runs.
func (t *tuning) Run(ctx context.Context) error {
	p, err := t.tuner.join(ctx, t.Attempt, t.log)
	if err != nil {
		return err
	}
	defer p.leave()
	t.alone, err = p.search(ctx)
	return err
}

// Event makes the event of a search. It is cached if another job did the work.
func (t *Tuner) Event(job events.Job, done execution.Committed, made result.Result) events.Event {
	return events.NewHParamsFound(job, &events.HParamsReady{
		Hyperparameters: done.Manifest.Outputs[bestKey].URI,
		Values:          made.Values,
		Score:           made.Score,
		Objective:       made.Objective,
		Study:           done.Manifest.Outputs[resultsKey].URI,
		Execution:       done.Manifest.Execution,
		Generation:      done.Commit.Generation,
		Cached:          made.Job != job.ID && !done.Reused,
		Reused:          done.Reused,
	}, made.Finished)
}

// Progress returns the progress of a study: how many of the maximum number of trials have ended. A
// trial that continues another counts only if there is no maximum, because it does not count
// against it.
func Progress(study tune.Study) events.Progress {
	most := max(study.Config.MaxTrials, 0)
	ended := 0
	for _, t := range study.Trials {
		counts := t.Parent == "" || most == 0
		if counts && (t.Status == tune.Completed || t.Status == tune.Failed || t.Status == tune.Infeasible) {
			ended++
		}
	}
	p := events.Progress{Phase: "tuning", Step: ended, Steps: most}
	if best := study.Leader(); best != nil {
		if score, there := study.Score(best); there {
			p.Metrics = map[string]float64{"best " + study.Config.Objectives[0].Name: score}
		}
	}
	return p
}
