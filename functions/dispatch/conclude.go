package dispatch

import (
	"context"
	"errors"
	"fmt"

	"github.com/stoker-ml/stoker/events"
	"github.com/stoker-ml/stoker/functions/dispatch/join"
)

// conclude notes what has come of a run's job, and gives its place at the gate free.
func (d *Dispatcher) conclude(ctx context.Context, outcome events.Recorded) error {
	run, err := d.read(ctx, outcome.Fact.Pipeline, outcome.Fact.Run)
	if err != nil {
		return err
	}
	if events.MayEnd(outcome.Fact, run.Job) {
		if err := d.noteOutcome(ctx, run, outcome.Message.Sequence); err != nil {
			return err
		}
	}
	return d.leave(ctx, outcome.Fact)
}

// noteOutcome writes into a run's join that its job need not be looked for any more. Where it can't, for the join has changed or has no
// room for it, sweeps read it from the log.
func (d *Dispatcher) noteOutcome(ctx context.Context, run held, sequence uint64) error {
	if run.State != join.Dispatched || run.Outcome != 0 || sequence <= max(run.Completed(), run.After) {
		return nil
	}
	after := run.Confirmed()
	after.Outcome = sequence
	_, err := d.swap(ctx, run, after)
	if errors.Is(err, events.ErrConflict) || errors.Is(err, events.ErrTooLarge) {
		return nil
	}
	return err
}

// confirm makes sure that the job of a run is on the queue whose join was marked by a dispatcher that may have died before it enqueued
// the job.
func (d *Dispatcher) confirm(ctx context.Context, run held, current deployed) error {
	if _, told, err := d.outcome(ctx, run.Join); told || err != nil {
		return err
	}
	return d.offerAgain(ctx, run, current)
}

// offerAgain makes sure that the job of a dispatched run is on the queue: a bus may lose what it has confirmed. To offer a job that is
// there is nothing; one that is done by now is done again, and its commit says so.
func (d *Dispatcher) offerAgain(ctx context.Context, run held, current deployed) error {
	job, err := d.job(ctx, run.Join, current, run.Again)
	if err == nil && job.ID != run.Job {
		err = fmt.Errorf("what its join has pinned makes job %s now", job.ID)
	}
	if err == nil {
		err = d.box.Offer(caused(ctx, run), job)
	}
	if err != nil {
		return fmt.Errorf("offer job %s of run %s of %s again: %w", run.Job, run.Run, run.Pipeline, err)
	}
	return nil
}
