package dispatch

import (
	"context"
	"errors"
	"fmt"

	"github.com/stoker-ml/stoker/events"
	"github.com/stoker-ml/stoker/functions/dispatch/join"
	"github.com/stoker-ml/stoker/functions/pipeline"
)

// offer gives a run that is complete, or whose job is to be done again, its job. The join is marked
// first, by compare-and-swap: from then on the run can't be ended any more, and whoever ended it
// before keeps it from having a job. Then the job is enqueued. A dispatcher that dies between the
// two leaves a join that is unconfirmed: whoever handles the run next enqueues the same job, which
// the queue takes once.
func (d *Dispatcher) offer(ctx context.Context, run held, current deployed, again join.Again) (events.Job, error) {
	job, err := d.job(ctx, run.Join, current, again)
	switch {
	case hopeless(err) && run.State == join.Complete:
		return job, d.end(ctx, run, events.FailureInput, err.Error())
	case err != nil:
		return job, fmt.Errorf("offer the job of run %s of %s: %w", run.Run, run.Pipeline, err)
	}
	marked, err := d.mark(ctx, run, job, again)
	if err != nil || marked.State != join.Dispatched || marked.Job != job.ID || marked.Outcome != 0 {
		return job, err
	}
	return job, d.enqueue(ctx, marked, job)
}

// mark moves the join on to dispatched. It returns the join as it then stands, whoever wrote it.
func (d *Dispatcher) mark(ctx context.Context, run held, job events.Job, again join.Again) (held, error) {
	for pause := (events.Pause{}); ; {
		written, err := d.swap(ctx, run, run.Dispatch(job.ID, again))
		if !errors.Is(err, events.ErrConflict) {
			return written, err
		}
		now, err := d.read(ctx, run.Pipeline, run.Run)
		switch {
		case err != nil:
			return held{}, err
		case now.State == join.Ended:
			return now, d.tell(ctx, now)
		case now.State == join.Dispatched && now.Job == job.ID && now.Again == again, // another dispatcher has marked it
			now.State == join.Dispatched && run.State == join.Complete && again == (join.Again{}): // or a later job
			return now, nil
		case now.State != join.Complete && now.State != join.Dispatched:
			return now, nil // its join was lost, and is being made anew
		}
		now.After = max(now.After, run.After)
		run = now // as it was, where the write that won has not arrived, or with its outcome
		if err := pause.Wait(ctx); err != nil {
			return held{}, fmt.Errorf("mark run %s of %s: %w", run.Run, run.Pipeline, err)
		}
	}
}

// enqueue puts the job of a join that is marked on the queue. A run whose first job the queue never
// takes ends.
func (d *Dispatcher) enqueue(ctx context.Context, run held, job events.Job) error {
	err := d.box.Offer(caused(ctx, run), job)
	if err == nil {
		d.log.InfoContext(ctx, "job offered", "job", job.ID, "pipeline", job.Pipeline, "run", job.Run, "class", job.Class)
		return nil
	}
	err = fmt.Errorf("offer the job of run %s of %s: %w", run.Run, run.Pipeline, err)
	if !hopeless(err) {
		return err
	}
	now, clock := d.now(ctx)
	if clock != nil {
		return clock
	}
	ended, swapped := d.swap(ctx, run, run.Undeliverable(err.Error(), now))
	if swapped != nil || ended.State != join.Ended {
		return errors.Join(err, swapped)
	}
	return d.tell(ctx, ended)
}

// hopeless says whether there never will be a job: the revision of the pipeline that the run was completed with is gone, or is one that
// this Stoker does not understand; or the job is larger than a message of the bus may be. Waiting would not help, and would hold up all
// who come behind.
func hopeless(err error) bool {
	_, unreadable := errors.AsType[*pipeline.Error](err)
	_, invalid := errors.AsType[*events.Invalid](err)
	return unreadable || invalid || errors.Is(err, events.ErrNotFound) || errors.Is(err, events.ErrTooLarge)
}

// job makes the job of a run from what its join has pinned.
func (d *Dispatcher) job(ctx context.Context, j join.Join, current deployed, again join.Again) (events.Job, error) {
	spec, err := d.pinned(ctx, j, current)
	if err != nil {
		return events.Job{}, err
	}
	job, err := j.Train(spec, again)
	if err == nil {
		err = job.Validate()
	}
	if err != nil {
		return events.Job{}, fmt.Errorf("plan run %s of %s: %w", j.Run, j.Pipeline, err)
	}
	return job, nil
}

// proceed offers the job that a run is to have next: its tune job while it waits, else its training job.
func (d *Dispatcher) proceed(ctx context.Context, run held, current deployed) error {
	if run.IsTuned() {
		return d.offerTuning(ctx, run, current)
	}
	_, err := d.offer(ctx, run, current, join.Again{})
	return err
}

// withdraw cancels the job that a run may have though it has ended: its join may have been made anew after it was lost, while the job
// was on the queue.
func (d *Dispatcher) withdraw(ctx context.Context, run held, current deployed) error {
	if run.Revision == 0 {
		return nil // it never was complete
	}
	job, err := d.job(ctx, run.Join, current, join.Again{})
	if hopeless(err) {
		return nil // nobody could make one
	}
	if err != nil {
		return err
	}
	return d.box.Cancel(ctx, job.ID)
}
