package dispatch

import (
	"context"
	"errors"
	"fmt"

	"github.com/stoker-ml/stoker/events"
	"github.com/stoker-ml/stoker/functions/pipeline"
	"github.com/stoker-ml/stoker/functions/plan"
)

// offer puts the job of a complete join on the queue, and marks the join. A dispatcher that died between the two leaves a join
// that is still complete, so that the same job is offered again: the queue takes it once, and the commit in the store makes the
// rest harmless.
func (d *Dispatcher) offer(ctx context.Context, run held, current deployed, again plan.Again) (events.Job, error) {
	job, err := d.job(ctx, run.Join, current, again)
	if err == nil {
		err = d.box.Offer(caused(ctx, run), job)
	}
	switch {
	case hopeless(err) && run.State == plan.Complete:
		return job, d.end(ctx, run, events.FailureInput, err.Error())
	case err != nil:
		return job, fmt.Errorf("offer the job of run %s of %s: %w", run.Run, run.Pipeline, err)
	}
	d.log.InfoContext(ctx, "job offered", "job", job.ID, "pipeline", job.Pipeline, "run", job.Run, "class", job.Class)
	return job, d.mark(ctx, run, job, again)
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
func (d *Dispatcher) job(ctx context.Context, join plan.Join, current deployed, again plan.Again) (events.Job, error) {
	spec, err := d.pinned(ctx, join, current)
	if err != nil {
		return events.Job{}, err
	}
	job, err := join.Train(spec, again)
	if err != nil {
		return events.Job{}, fmt.Errorf("plan run %s of %s: %w", join.Run, join.Pipeline, err)
	}
	return job, nil
}

// mark moves the join on to dispatched. A lost race means that another dispatcher marked it, or that the run ended while its job was
// on its way: then the job is called back.
func (d *Dispatcher) mark(ctx context.Context, run held, job events.Job, again plan.Again) error {
	after := run.Join
	after.State, after.Job, after.Again, after.Outcome = plan.Dispatched, job.ID, again, 0
	now, err := d.swap(ctx, run, after)
	if errors.Is(err, events.ErrConflict) {
		now, err = d.read(ctx, run.Pipeline, run.Run)
	}
	if err != nil || now.State != plan.Ended {
		return err
	}
	return errors.Join(d.tell(ctx, now), d.box.Cancel(ctx, job.ID))
}

// proceed offers the job that a run is to have next: its tune job while it waits, else its training job.
func (d *Dispatcher) proceed(ctx context.Context, run held, current deployed) error {
	if run.IsTuned() {
		return d.offerTuning(ctx, run, current)
	}
	_, err := d.offer(ctx, run, current, plan.Again{})
	return err
}

// withdraw cancels the jobs that a run may have had when it ended: a dispatcher may have died between offering one and finding out
// that the run was over.
func (d *Dispatcher) withdraw(ctx context.Context, run held, current deployed) error {
	if run.Revision == 0 {
		return nil // it never was complete
	}
	job, err := d.job(ctx, run.Join, current, plan.Again{})
	if hopeless(err) {
		return nil // nobody could make one
	}
	if err != nil {
		return err
	}
	return d.box.Cancel(ctx, job.ID)
}
