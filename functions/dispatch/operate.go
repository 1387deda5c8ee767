package dispatch

import (
	"context"
	"errors"
	"fmt"

	"github.com/stoker-ml/stoker/events"
	"github.com/stoker-ml/stoker/functions/dispatch/join"
)

// ErrTooLate says that a run can't be cancelled any more: it has its outcome.
var ErrTooLate = errors.New("too late")

// Pause lets no further runs of a pipeline be dispatched. Jobs that are on the queue go on, and so
// does a run that a dispatcher has admitted and is giving its job in this moment.
// events.ErrNotFound if there is no such pipeline.
func Pause(ctx context.Context, bus events.Bus, pipeline string) error {
	return setPaused(ctx, bus, pipeline, true)
}

// Resume dispatches the runs of a pipeline that wait, as many as its concurrency allows.
func Resume(ctx context.Context, bus events.Bus, pipeline string) error {
	return setPaused(ctx, bus, pipeline, false)
}

func setPaused(ctx context.Context, bus events.Bus, pipeline string, paused bool) error {
	d, current, err := open(ctx, bus, pipeline)
	if err == nil {
		err = d.admissions.Sync(ctx) // where the entry says so already, nothing is written that would be refused if it were old
	}
	if err != nil {
		return err
	}
	failed, err := d.settle(ctx, current, func(a join.Admission) join.Admission { a.Paused = paused; return a })
	return errors.Join(err, all(failed))
}

// open returns a dispatcher for one command, and the pipeline that it concerns.
func open(ctx context.Context, bus events.Bus, pipeline string) (*Dispatcher, deployed, error) {
	d, err := New(ctx, bus, nil)
	if err != nil {
		return nil, deployed{}, err
	}
	if _, err := d.pipelines.Get(ctx, pipeline); err != nil {
		return nil, deployed{}, fmt.Errorf("pipeline %s: %w", pipeline, err)
	}
	current, err := d.pipeline(ctx, pipeline)
	return d, current, err
}

// Cancelled says how far a run was when it was cancelled.
type Cancelled struct {
	Job string // that is stopping; an event will have its outcome. "": the run had none, and has ended
}

// Cancel ends a run, or asks the worker that has its job to stop. It returns ErrTooLate if the run
// has its outcome already, and events.ErrNotFound if no event of it is known. Cancelling again is
// success for as long as the job has not ended.
func Cancel(ctx context.Context, bus events.Bus, pipeline, run string) (Cancelled, error) {
	d, current, err := open(ctx, bus, pipeline)
	if errors.Is(err, events.ErrNotFound) { // it may have been removed: its runs can be cancelled still
		d, err = New(ctx, bus, nil)
		current.spec.Name = pipeline
	}
	if err != nil {
		return Cancelled{}, err
	}
	for pause := (events.Pause{}); ; {
		found, err := d.known(ctx, current, run)
		if err != nil {
			return Cancelled{}, err
		}
		switch found.State {
		case join.Dispatched:
			return d.cancelJob(ctx, found, current)
		case join.Ended:
			_, err := d.announce(ctx, found)
			return Cancelled{}, errors.Join(tooLate(found.Join, found.Ending.Message), err)
		}
		over, err := d.cancelRun(ctx, found, current)
		if over || err != nil && !errors.Is(err, events.ErrConflict) {
			return Cancelled{}, err
		} // else it has changed meanwhile, or has a job now
		if err := pause.Wait(ctx); err != nil {
			return Cancelled{}, fmt.Errorf("cancel run %s of %s: %w", run, pipeline, err)
		}
	}
}

// known is the join of a run, whole; events.ErrNotFound if no dispatcher has handled an event of
// the run.
func (d *Dispatcher) known(ctx context.Context, current deployed, run string) (held, error) {
	found, err := d.readWhole(ctx, current, run)
	if err == nil && found.at == 0 {
		return held{}, fmt.Errorf("read join %s: %w", JoinKey(current.spec.Name, run), events.ErrNotFound)
	}
	return found, err
}

// cancelRun ends a run whose training has no job. Its join decides: a dispatcher that is about to
// give it one marks the join first. A run that waits ends with the events that the log holds of it:
// dispatchers do not handle them in their order, and may not have had the older ones.
func (d *Dispatcher) cancelRun(ctx context.Context, run held, current deployed) (over bool, err error) {
	if run.State == join.Waiting {
		all, err := d.eventsOf(ctx, run.Join)
		if err != nil {
			return false, err
		}
		if run.Join = run.Decide(current.spec, all); run.SearchDue() {
			run.Join = run.WithoutSearch() // it has no job yet, and gets none
		}
	}
	if _, err := d.end(ctx, run, events.FailureCancelled, "cancelled"); err != nil {
		return false, err
	}
	failed, err := d.settle(ctx, current, func(a join.Admission) join.Admission { return a.Remove(run.Run) })
	return true, errors.Join(err, d.only(run.Run, failed))
}

// cancelJob cancels a job that was enqueued, unless it has its outcome and no worker retries it.
// One that the bus has lost is enqueued again, because only a worker that finds it cancelled
// announces that.
func (d *Dispatcher) cancelJob(ctx context.Context, run held, current deployed) (Cancelled, error) {
	outcome, found, err := d.outcome(ctx, run.Join)
	if err != nil {
		return Cancelled{}, err
	}
	job := run.Current().Job
	if found {
		again, err := d.tried(ctx, job)
		if err != nil {
			return Cancelled{}, err
		}
		if !again {
			return Cancelled{}, tooLate(run.Join, string(outcome.Event.Data.Kind()))
		}
	} else {
		err = d.reenqueue(ctx, run, current)
	}
	if err := errors.Join(err, d.bus.Cancel(ctx, job)); err != nil {
		return Cancelled{}, fmt.Errorf("cancel job %s of run %s: %w", job, run.Run, err)
	}
	return Cancelled{Job: job}, nil
}

// tried reports whether a job that has not ended has been claimed by a worker: its lease is there,
// and counts attempts.
func (d *Dispatcher) tried(ctx context.Context, job string) (bool, error) {
	leases, err := d.bus.KV(ctx, events.KVLeases)
	if err != nil {
		return false, fmt.Errorf("open leases: %w", err)
	}
	entry, err := leases.Get(ctx, job)
	if errors.Is(err, events.ErrNotFound) {
		return false, nil
	}
	if err != nil {
		return false, fmt.Errorf("read lease of job %s: %w", job, err)
	}
	lease, _ := events.DecodeLease(entry) // one that can't be read counts as tried
	return lease.Number > 0, nil
}

func tooLate(j join.Join, what string) error {
	return fmt.Errorf("cancel run %s of %s: %w: %s", j.Run, j.Pipeline, ErrTooLate, what)
}

// PlanRetry makes the training job of a run as Retry would, and does nothing with it.
func (d *Dispatcher) PlanRetry(ctx context.Context, pipeline, run string, retry join.Retry) (events.Job, error) {
	found, current, err := d.trained(ctx, pipeline, run)
	if err != nil {
		return events.Job{}, err
	}
	return d.job(ctx, found.Join, events.FunctionTrain, current, retry)
}

// Retry makes the job of a stage of a run once more, from what its join has pinned, and enqueues
// it. It does not wait for admission: the operator decides that too. Repeating the same retry is
// harmless.
//
// The training is that of a run that is complete or dispatched; the join names the new job from
// then on. The result of a search is an event of the run, which may have been trained since: then
// it only changes where its hyperparameters are.
func (d *Dispatcher) Retry(ctx context.Context, pipeline, run string, function events.Function, retry join.Retry) (events.Job, error) {
	if function == events.FunctionTune {
		return d.retrySearch(ctx, pipeline, run, retry)
	}
	found, current, err := d.trained(ctx, pipeline, run)
	if err != nil {
		return events.Job{}, err
	}
	outcome, over, err := d.outcome(ctx, found.Join)
	if err != nil {
		return events.Job{}, err
	}
	if over {
		found.Join = found.RetriedAfter(function, outcome.Message.Sequence)
	}
	_, job, err := d.dispatch(ctx, found, current, retry)
	return job, err
}

// trained reads a run whose training is pinned.
func (d *Dispatcher) trained(ctx context.Context, pipeline, run string) (found held, current deployed, err error) {
	if found, err = readJoin(ctx, d.joins, JoinKey(pipeline, run)); err != nil {
		return found, current, err
	}
	if found.State != join.Complete && found.State != join.Dispatched {
		return found, current, fmt.Errorf("run %s of %s is %s: it has no job that could be done again", run, pipeline, found.State)
	}
	current, err = d.pipeline(ctx, pipeline)
	return found, current, err
}

func (d *Dispatcher) retrySearch(ctx context.Context, pipeline, run string, retry join.Retry) (events.Job, error) {
	found, err := readJoin(ctx, d.joins, JoinKey(pipeline, run))
	if err == nil {
		err = found.damage
	}
	if err == nil && !found.Stage(events.FunctionTune).Exists() {
		err = fmt.Errorf("run %s of %s was not tuned", run, pipeline)
	}
	if err != nil {
		return events.Job{}, err
	}
	job, err := d.job(ctx, found.Join, events.FunctionTune, deployed{}, retry)
	if err == nil {
		err = d.bus.Enqueue(caused(ctx, found), job)
	}
	if err != nil {
		return events.Job{}, fmt.Errorf("enqueue the tune job of run %s of %s again: %w", run, pipeline, err)
	}
	return job, nil
}
