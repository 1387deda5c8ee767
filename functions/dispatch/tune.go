package dispatch

import (
	"context"
	"errors"
	"fmt"

	"github.com/stoker-ml/stoker/events"
	"github.com/stoker-ml/stoker/functions/dispatch/join"
)

// tune sees a run to its tune job, through the gate of its pipeline: a run that is tuned is worked on. A job that was offered is offered
// again, for a fact that is handled again may be so because the bus has lost the job; where it is on the queue, that is nothing.
func (d *Dispatcher) tune(ctx context.Context, run held, current deployed) error {
	if run.Tuning.Job == "" {
		return d.enter(ctx, run, current)
	}
	return d.offerTuningAgain(ctx, run, current)
}

// offerTuning gives a run its tune job: the join is marked first, and the job enqueued then, as
// offer does. A run may still end, or get its hyperparameters from elsewhere, between the two; then
// the job is cancelled.
func (d *Dispatcher) offerTuning(ctx context.Context, run held, current deployed) error {
	job, err := d.tuneJob(ctx, run.Join, current, join.Again{})
	switch {
	case hopeless(err):
		return d.end(ctx, run, events.FailureInput, err.Error())
	case err != nil:
		return fmt.Errorf("offer the tune job of run %s of %s: %w", run.Run, run.Pipeline, err)
	}
	marked, err := d.markTuning(ctx, run, job)
	if err != nil || !marked.IsTuned() {
		return err
	}
	err = d.box.Offer(caused(ctx, marked), job)
	if hopeless(err) {
		return d.end(ctx, marked, events.FailureInput, err.Error())
	}
	if err != nil {
		return fmt.Errorf("offer the tune job of run %s of %s: %w", run.Run, run.Pipeline, err)
	}
	d.log.InfoContext(ctx, "tune job offered", "job", job.ID, "pipeline", job.Pipeline, "run", job.Run, "class", job.Class)
	now, err := d.read(ctx, run.Pipeline, run.Run)
	if err != nil || now.IsTuned() {
		return err
	}
	return d.withdrawTuning(ctx, now)
}

func (d *Dispatcher) offerTuningAgain(ctx context.Context, run held, current deployed) error {
	job, err := d.tuneJob(ctx, run.Join, current, join.Again{})
	if err == nil {
		err = d.box.Offer(caused(ctx, run), job)
	}
	if err != nil {
		return fmt.Errorf("offer tune job %s of run %s of %s again: %w", run.Tuning.Job, run.Run, run.Pipeline, err)
	}
	return nil
}

// tuneJob makes the tune job of a run from what its join has pinned of it.
func (d *Dispatcher) tuneJob(ctx context.Context, j join.Join, current deployed, again join.Again) (events.Job, error) {
	spec, err := d.pinned(ctx, j.AtTuning(), current)
	if err != nil {
		return events.Job{}, err
	}
	job, err := j.Tune(spec, again)
	if err != nil {
		return events.Job{}, fmt.Errorf("plan the tuning of run %s of %s: %w", j.Run, j.Pipeline, err)
	}
	return job, nil
}

// markTuning notes in the join which tune job the run is to have. Facts that came meanwhile stay. It
// returns the join as it then stands, whoever wrote it.
func (d *Dispatcher) markTuning(ctx context.Context, run held, job events.Job) (held, error) {
	for pause := (events.Pause{}); ; {
		written, err := d.swap(ctx, run, run.DispatchTuning(job.ID))
		if !errors.Is(err, events.ErrConflict) {
			return written, err
		}
		if run, err = d.read(ctx, run.Pipeline, run.Run); err != nil {
			return held{}, err
		}
		switch {
		case run.State == join.Ended:
			return run, d.tell(ctx, run)
		case !run.IsTuned() || run.Tuning.Job != "":
			return run, nil
		}
		if err := pause.Wait(ctx); err != nil {
			return held{}, fmt.Errorf("mark the tuning of run %s of %s: %w", run.Run, run.Pipeline, err)
		}
	}
}

// withdrawTuning cancels the tune job of a run that does not wait for it any more: it has ended, or someone else told what the job is
// to find out. A dispatcher may have died between offering the job and finding that out.
func (d *Dispatcher) withdrawTuning(ctx context.Context, run held) error {
	if run.Tuning == nil || run.TunedByUs() {
		return nil
	}
	id := run.Tuning.Job
	if id == "" {
		job, err := d.tuneJob(ctx, run.Join, deployed{}, join.Again{})
		if hopeless(err) {
			return nil // nobody could make one
		}
		if err != nil {
			return err
		}
		id = job.ID
	}
	if err := d.box.Cancel(ctx, id); err != nil {
		return fmt.Errorf("cancel tune job %s of run %s of %s: %w", id, run.Run, run.Pipeline, err)
	}
	return nil
}

// pinTuning fixes what a run's tune job will be made from, once it is due. Where what the run waits for is there already, no job is
// needed any more.
func (d *Dispatcher) pinTuning(ctx context.Context, j join.Join, current deployed) (join.Join, error) {
	if !j.TuningDue() {
		return j, nil
	}
	if j.State != join.Waiting || j.Ready(current.spec) && !j.TunedByUs() {
		return j.Untuned(), nil
	}
	latest, err := d.latest(ctx, j.AtTuning(), j.TuningWants(current.spec))
	if err != nil {
		return j, err
	}
	return j.PinTuning(current.revision, latest), nil
}
