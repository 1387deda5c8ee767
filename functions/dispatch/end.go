package dispatch

import (
	"context"
	"errors"
	"fmt"

	"github.com/stoker-ml/stoker/events"
	"github.com/stoker-ml/stoker/functions/dispatch/join"
)

// cancel ends a run that has no job because someone, or a newer run, wants it so.
func (d *Dispatcher) cancel(ctx context.Context, run held, message string) error {
	return d.end(ctx, run, events.FailureCancelled, message)
}

// end ends a run that has no job, and tells. events.ErrConflict if the run is no longer as it was.
func (d *Dispatcher) end(ctx context.Context, run held, kind events.FailureKind, message string) error {
	now, err := d.now(ctx)
	if err != nil {
		return err
	}
	ended, err := d.swap(ctx, run, run.End(kind, message, now))
	if err != nil {
		return err
	}
	return d.tell(ctx, ended)
}

// tell calls back what the run may be tuned by, publishes that it has ended, and marks the join. The fact is the same whoever
// tells it, so that the log has it once.
func (d *Dispatcher) tell(ctx context.Context, run held) error {
	if run.Ending.Told {
		return nil
	}
	if err := d.withdrawTuning(ctx, run); err != nil {
		return err
	}
	fact := events.NewRunEnded(events.RunEnded{
		Pipeline: run.Pipeline, Run: run.Run, Last: run.Last().Cause, At: run.Ending.At, Through: run.Ending.Through,
		Failure: &events.Failure{Kind: run.Ending.Kind, Err: errors.New(run.Ending.Message)},
	})
	fact.Trace, fact.TraceState = run.Last().Trace, run.Last().TraceState
	if err := d.publish(ctx, fact); err != nil {
		return fmt.Errorf("tell that run %s of %s has ended: %w", run.Run, run.Pipeline, err)
	}
	d.log.InfoContext(ctx, "run ended", "pipeline", run.Pipeline, "run", run.Run, "kind", run.Ending.Kind, "message", run.Ending.Message)
	if _, err := d.swap(ctx, run, run.Told()); err != nil && !errors.Is(err, events.ErrConflict) {
		return err
	}
	return nil
}

// publish tells a fact of our own, whose id follows from what it tells. One that another source told under that id, a mirror of the log
// say, tells the same: to try again would never end.
func (d *Dispatcher) publish(ctx context.Context, fact events.Fact) error {
	_, err := d.box.Publish(ctx, fact)
	if errors.Is(err, events.ErrConflict) {
		d.log.WarnContext(ctx, "fact was told by another source", "pipeline", fact.Pipeline, "run", fact.Run, "fact", fact.ID, "error", err)
		return nil
	}
	return err
}

// supersede ends a run that waits at its gate, because a newer one took its place. One that has a job by now keeps it.
func (d *Dispatcher) supersede(ctx context.Context, current deployed, place join.Place) error {
	for pause := (events.Pause{}); ; {
		run, err := d.read(ctx, current.spec.Name, place.Run)
		if err != nil {
			return err
		}
		switch run.State {
		case join.Complete, join.Waiting:
			if lacksJob(run.Join) {
				err = d.cancel(ctx, run, "superseded by run "+place.SupersededBy)
			}
		case join.Ended:
			err = d.tell(ctx, run)
		}
		if !errors.Is(err, events.ErrConflict) {
			return err
		}
		if err := pause.Wait(ctx); err != nil {
			return err
		}
	}
}
