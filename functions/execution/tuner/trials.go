package tuner

import (
	"cmp"
	"context"
	"errors"
	"math"

	"github.com/stoker-ml/stoker/events"
	"github.com/stoker-ml/stoker/functions/worker"
)

// Trials is the worker.Function of trial jobs. A trial job helps with a study that a tune job has
// begun and will publish: it has no commit and no event of its own, and the tune job finds and
// reports whatever is wrong with the study.
type Trials struct{ tuner *Tuner }

// Trials returns the function that works on the trials of the studies that this tuner and others
// begin.
func (t *Tuner) Trials() *Trials { return &Trials{t} }

// Name returns the function whose jobs it handles: trial.
func (t *Trials) Name() events.Function { return events.FunctionTrial }

// Limits returns limits with which a trial job is never given up: it is done, or retried.
func (t *Trials) Limits(events.Job) worker.Limits {
	return worker.Limits{Attempts: math.MaxInt, Crashes: math.MaxInt, Lost: math.MaxInt}
}

// Failed is never called.
func (t *Trials) Failed(task worker.Task, failure *events.Failure) events.Event {
	return events.NewJobFailed(task.Job, task.Attempt, failure)
}

// Handle takes trials of the study until there is none for this job. A job with which too many
// workers died (max_lost) is acknowledged; the tune job, which has a limit of its own, takes over
// its trial.
func (t *Trials) Handle(ctx context.Context, task worker.Task) ([]events.Event, error) {
	if task.Attempt.Lost >= cmp.Or(t.tuner.Limits(task.Job).Lost, worker.DefaultLost) {
		t.tuner.executor.Log(task).Error("trial job given up: too many workers died with it", "study", task.Job.Study, "workers", task.Attempt.Lost)
		return nil, nil
	}
	err := t.work(ctx, task)
	failure, said := errors.AsType[*events.Failure](err)
	if !said || failure.Kind == events.FailureUnavailable || ctx.Err() != nil {
		return nil, err
	}
	t.tuner.executor.Log(task).Warn("trial job given up", "study", task.Job.Study, "kind", failure.Kind, "error", err)
	return nil, nil
}

// work is the main path of a trial job: the executor's steps up to the staged inputs, then trials.
func (t *Trials) work(ctx context.Context, task worker.Task) error {
	tune, x := task, t.tuner.executor
	tune.Job.Function = events.FunctionTune // the execution is the tune job's
	e, err := x.Identify(ctx, tune, t.tuner)
	if err != nil {
		return err
	}
	e.Job = task.Job
	// Inputs or module have changed since: the tune job finds that out, too.
	if studyOf(e).ID != task.Job.Study {
		return nil
	}
	l, err := t.tuner.open(ctx, task, e)
	if err != nil {
		return err
	}
	if study := l.Now(); study.Entries == 0 || study.Settled() || study.Free() == 0 && study.Of(task.Job.ID) == nil {
		return nil
	}
	a, err := x.Open(task, e)
	if err != nil {
		return err
	}
	defer a.Close()
	if err := a.StageIn(ctx); err != nil {
		return err
	}
	p, err := t.tuner.join(ctx, a, l)
	if err != nil {
		return err
	}
	defer p.leave()
	return p.work(ctx)
}
