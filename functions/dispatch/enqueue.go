package dispatch

import (
	"context"
	"errors"
	"fmt"

	"github.com/stoker-ml/stoker/events"
	"github.com/stoker-ml/stoker/functions/dispatch/join"
	"github.com/stoker-ml/stoker/functions/pipeline"
	"github.com/stoker-ml/stoker/functions/telemetry"
)

// dispatch gives the current stage of a run its job, or the training of a run another one. The join
// is marked first, by compare-and-swap: after that, a run whose training has a job can't be ended,
// and a run that was ended before gets no job. Then the job is enqueued. A dispatcher that dies
// between the two leaves a stage that is unconfirmed: the next dispatcher that handles the run
// enqueues the same job, which the queue accepts once.
//
// It returns the new join, and the job.
func (d *Dispatcher) dispatch(ctx context.Context, run held, current deployed, retry join.Retry) (held, events.Job, error) {
	job, err := d.job(ctx, run.Join, run.Current().Function, current, retry)
	if hopeless(err) && run.LacksJob() {
		ended, err := d.end(ctx, run, events.FailureInput, err.Error())
		return ended, job, err
	}
	if err != nil {
		return run, job, fmt.Errorf("enqueue the job of run %s of %s: %w", run.Run, run.Pipeline, err)
	}
	marked, err := d.mark(ctx, run, job, retry)
	if err != nil || !marked.awaits(job) {
		return marked, job, err
	}
	marked, err = d.enqueue(ctx, marked, job)
	return marked, job, err
}

// awaits reports whether a run waits for the outcome of a job.
func (run held) awaits(job events.Job) bool {
	stage := run.Current()
	return run.State != join.Ended && stage.Job == job.ID && stage.Outcome == 0
}

// job makes the job of a stage from what the join has pinned.
func (d *Dispatcher) job(ctx context.Context, j join.Join, function events.Function, current deployed, retry join.Retry) (events.Job, error) {
	spec, err := d.pinned(ctx, j.Pipeline, j.Stage(function).Revision, current)
	if err != nil {
		return events.Job{}, err
	}
	job, err := j.Job(spec, function, retry)
	if err == nil {
		err = job.Validate()
	}
	if err != nil {
		return events.Job{}, fmt.Errorf("make the %s job of run %s of %s: %w", function, j.Run, j.Pipeline, err)
	}
	return job, nil
}

// hopeless reports whether the run can never have a job: the revision of the pipeline that its
// stage has pinned is gone, or is one that this Stoker does not understand, or the job is larger
// than a message of the bus may be. Waiting would not help, and would hold up the runs behind it.
func hopeless(err error) bool {
	_, unreadable := errors.AsType[*pipeline.Error](err)
	_, invalid := errors.AsType[*events.Invalid](err)
	return unreadable || invalid || errors.Is(err, events.ErrNotFound) || errors.Is(err, events.ErrTooLarge)
}

// mark names the job in the join. It returns the new join, whoever wrote it; events that arrived
// meanwhile stay.
func (d *Dispatcher) mark(ctx context.Context, run held, job events.Job, retry join.Retry) (held, error) {
	for pause := (events.Pause{}); ; {
		written, err := d.swap(ctx, run, run.Dispatch(job.Function, job.ID, retry))
		if !errors.Is(err, events.ErrConflict) {
			return written, err
		}
		now, err := d.read(ctx, run.Pipeline, run.Run)
		if err != nil {
			return held{}, err
		}
		before, stage := run.Current(), now.Current()
		switch {
		case now.State == join.Ended:
			return d.announce(ctx, now)
		case stage.Function != job.Function:
			// Its join was lost and is being rebuilt, or its search is no longer needed.
			return now, nil
		case stage.Job == job.ID && stage.Retry == retry, // another dispatcher has marked it
			stage.Job != "" && before.Job == "" && retry == (join.Retry{}): // or named a later job
			return now, nil
		}
		now.Join = now.RetriedAfter(job.Function, max(stage.After, before.After))
		run = now // the same as before, if the winning write can't be read yet, or with its outcome
		if err := pause.Wait(ctx); err != nil {
			return held{}, fmt.Errorf("mark run %s of %s: %w", run.Run, run.Pipeline, err)
		}
	}
}

// enqueue enqueues the job of a join that is marked. A run whose first job the queue never accepts
// ends. A run that waits for its search may end, or get hyperparameters from elsewhere, between the
// mark and this call: then the job is cancelled.
func (d *Dispatcher) enqueue(ctx context.Context, run held, job events.Job) (held, error) {
	if err := d.bus.Enqueue(caused(ctx, run), job); err != nil {
		err = fmt.Errorf("enqueue the job of run %s of %s: %w", run.Run, run.Pipeline, err)
		if hopeless(err) {
			return d.endUndeliverable(ctx, run, job, err)
		}
		return run, err
	}
	d.log.InfoContext(ctx, "job enqueued", "job", job.ID, "function", job.Function, "pipeline", job.Pipeline, "run", job.Run, "class", job.Class)
	if run.State == join.Dispatched {
		return run, nil
	}
	now, err := d.read(ctx, run.Pipeline, run.Run)
	if err != nil || now.IsSearching() {
		return now, err
	}
	return now, d.withdraw(ctx, now, events.FunctionTune, deployed{})
}

// endUndeliverable ends a run because the queue never accepts the first job of a stage.
func (d *Dispatcher) endUndeliverable(ctx context.Context, run held, job events.Job, why error) (held, error) {
	now, err := d.now(ctx)
	if err != nil {
		return run, err
	}
	ended, err := d.swap(ctx, run, run.Undeliverable(job.Function, why.Error(), now))
	if err != nil || ended.State != join.Ended {
		return run, errors.Join(why, err)
	}
	return d.announce(ctx, ended)
}

// caused returns the ctx in which a run's job is enqueued. Its trace is that of the event that
// completed the run; the spans of the other events, which may be of other traces, are its links.
func caused(ctx context.Context, run held) context.Context {
	var others []telemetry.Place
	last := run.Last().Cause
	for _, event := range run.Events {
		if event.Cause != last {
			others = append(others, telemetry.Place{Parent: event.Trace, State: event.TraceState})
		}
	}
	return telemetry.CausedBy(ctx, others...)
}

// confirm ensures that the job of a run's current stage is on the queue, unless its outcome is in
// the log: a dispatcher may have died between the mark and the queue, or the bus may have lost the
// job.
func (d *Dispatcher) confirm(ctx context.Context, run held, current deployed) error {
	if _, found, err := d.outcome(ctx, run.Join); found || err != nil {
		return err
	}
	return d.reenqueue(ctx, run, current)
}

// reenqueue enqueues the job of a run's current stage again, because a bus may lose acknowledged
// messages. The queue ignores a job that it has. One that is done already is executed again, and
// its commit settles that.
func (d *Dispatcher) reenqueue(ctx context.Context, run held, current deployed) error {
	stage := run.Current()
	job, err := d.job(ctx, run.Join, stage.Function, current, stage.Retry)
	if err == nil && job.ID != stage.Job {
		err = fmt.Errorf("the inputs in its join now give job %s", job.ID)
	}
	if err == nil {
		err = d.bus.Enqueue(caused(ctx, run), job)
	}
	if err != nil {
		return fmt.Errorf("enqueue job %s of run %s of %s again: %w", stage.Job, run.Run, run.Pipeline, err)
	}
	return nil
}

// withdrawEarlier withdraws the search of a run that is to be trained.
func (d *Dispatcher) withdrawEarlier(ctx context.Context, run held, current deployed) error {
	if run.Current().Function == events.FunctionTune {
		return nil
	}
	return d.withdraw(ctx, run, events.FunctionTune, current)
}

// withdraw cancels a job that a stage of a run may have and that the run no longer waits for,
// because it has ended or has hyperparameters from elsewhere. A dispatcher may have died before it
// noticed that, or the join was rebuilt while the job was on the queue. A search that has announced
// its result has no job left.
func (d *Dispatcher) withdraw(ctx context.Context, run held, function events.Function, current deployed) error {
	stage := run.Stage(function)
	if stage.Revision == 0 || function == events.FunctionTune && run.SearchAnnounced() {
		return nil
	}
	id := stage.Job
	if id == "" {
		job, err := d.job(ctx, run.Join, function, current, join.Retry{})
		if hopeless(err) {
			return nil // no dispatcher could have made one
		}
		if err != nil {
			return err
		}
		id = job.ID
	}
	if err := d.bus.Cancel(ctx, id); err != nil {
		return fmt.Errorf("cancel %s job %s of run %s of %s: %w", function, id, run.Run, run.Pipeline, err)
	}
	return nil
}
