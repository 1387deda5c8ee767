package dispatch

import (
	"context"
	"errors"
	"fmt"

	"github.com/stoker-ml/stoker/events"
	"github.com/stoker-ml/stoker/functions/dispatch/join"
)

// ErrTooLate reports that a run can't be cancelled any more because it has its outcome.
var ErrTooLate = errors.New("too late")

// Pause stops dispatching further runs of a pipeline. Jobs on the queue continue, and so does a run
// that a dispatcher has admitted and is giving its job at this moment. It returns
// events.ErrNotFound if the pipeline does not exist.
func Pause(ctx context.Context, bus events.Bus, pipeline string) error {
	return setPaused(ctx, bus, pipeline, true)
}

// Resume dispatches the waiting runs of a pipeline, as many as its concurrency allows.
func Resume(ctx context.Context, bus events.Bus, pipeline string) error {
	return setPaused(ctx, bus, pipeline, false)
}

func setPaused(ctx context.Context, bus events.Bus, pipeline string, paused bool) error {
	d, current, err := open(ctx, bus, pipeline)
	if err == nil {
		// If the entry says so already, no write would show that it is old.
		err = d.admissions.Sync(ctx)
	}
	if err != nil {
		return err
	}
	failed, err := d.settle(ctx, current, func(a join.Admission) join.Admission { a.Paused = paused; return a })
	return errors.Join(err, all(failed))
}

// open returns a dispatcher for one command, and the command's pipeline.
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

// Cancelled reports what a cancellation found.
type Cancelled struct {
	// The job that is stopping, and whose outcome an event will announce; "": the run had none, and
	// has ended.
	Job string
}

// Cancel ends a run, or asks the worker that has its job to stop. It returns ErrTooLate if the run
// has its outcome already, and events.ErrNotFound if no event of it is known. Cancelling again
// succeeds until the job has ended.
func Cancel(ctx context.Context, bus events.Bus, pipeline, run string) (Cancelled, error) {
	d, current, err := open(ctx, bus, pipeline)
	// It may have been removed; its runs can still be cancelled.
	if errors.Is(err, events.ErrNotFound) {
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
		} // otherwise it has changed meanwhile, or has a job now
		if err := pause.Wait(ctx); err != nil {
			return Cancelled{}, fmt.Errorf("cancel run %s of %s: %w", run, pipeline, err)
		}
	}
}

// known returns the join of a run, rebuilt if needed; events.ErrNotFound if no dispatcher has
// handled an event of the run.
func (d *Dispatcher) known(ctx context.Context, current deployed, run string) (held, error) {
	found, err := d.readWhole(ctx, current, run)
	if err == nil && found.at == 0 {
		return held{}, fmt.Errorf("read join %s: %w", JoinKey(current.spec.Name, run), events.ErrNotFound)
	}
	return found, err
}

// cancelRun ends a run whose training has no job. The join decides, because a dispatcher marks the
// join before it enqueues a job. A waiting run ends with the events of it that are in the log:
// dispatchers do not handle them in their order, and may not have added the older ones to the join
// yet.
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

// cancelJob cancels a job that was enqueued, unless it has its outcome and no worker retries it. A
// job that the bus has lost is enqueued again, because only a worker that finds it cancelled
// announces its end.
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

// tried reports whether a worker has claimed a job that has not ended: then its lease exists and
// counts attempts.
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
	lease, _ := events.DecodeLease(entry) // a lease that can't be read counts as tried
	return lease.Number > 0, nil
}

func tooLate(j join.Join, what string) error {
	return fmt.Errorf("cancel run %s of %s: %w: %s", j.Run, j.Pipeline, ErrTooLate, what)
}

// PlanRetry makes the training job of a run as Retry would, without any effect.
func (d *Dispatcher) PlanRetry(ctx context.Context, pipeline, run string, retry join.Retry) (events.Job, error) {
	found, current, err := d.trained(ctx, pipeline, run)
	if err != nil {
		return events.Job{}, err
	}
	return d.job(ctx, found.Join, events.FunctionTrain, current, retry)
}

// Retry makes the job of a stage of a run once more, from the inputs that its join has pinned, and
// enqueues it. It does not wait for admission, because the operator has decided. Repeating the same
// retry is harmless.
//
// A training is retried only if the run is complete or dispatched; the join then names the new job.
// The result of a search is an event of the run, which may have been trained since: then the retry
// only changes the address of its hyperparameters.
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
		return found, current, fmt.Errorf("run %s of %s is %s: it has no job to repeat", run, pipeline, found.State)
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
