package dispatch

import (
	"context"
	"errors"
	"fmt"

	"github.com/stoker-ml/stoker/events"
	"github.com/stoker-ml/stoker/functions/dispatch/join"
)

// conclude records the outcome of a run's training, and removes the run from its pipeline's
// admission.
func (d *Dispatcher) conclude(ctx context.Context, outcome events.Recorded) error {
	run, err := d.read(ctx, outcome.Event.Pipeline, outcome.Event.Run)
	if err != nil {
		return err
	}
	if events.MayEnd(outcome.Event, run.Stage(events.FunctionTrain).Job) {
		if err := d.noteOutcome(ctx, run, outcome.Message.Sequence); err != nil {
			return err
		}
	}
	return d.release(ctx, outcome.Event)
}

// noteOutcome writes into a run's join that its job need not be checked any more. If it can't,
// because the join has changed or would be too large, sweeps read the outcome from the log.
func (d *Dispatcher) noteOutcome(ctx context.Context, run held, sequence uint64) error {
	train := run.Stage(events.FunctionTrain)
	if run.State != join.Dispatched || train.Outcome != 0 || sequence <= max(run.Completed(), train.After) {
		return nil
	}
	_, err := d.swap(ctx, run, run.Confirmed().Concluded(sequence))
	if errors.Is(err, events.ErrConflict) || errors.Is(err, events.ErrTooLarge) {
		return nil
	}
	return err
}

// end ends a run whose training has no job, and announces that. It returns events.ErrConflict if
// the run has changed.
func (d *Dispatcher) end(ctx context.Context, run held, kind events.FailureKind, message string) (held, error) {
	now, err := d.now(ctx)
	if err != nil {
		return run, err
	}
	ended, err := d.swap(ctx, run, run.End(kind, message, now))
	if err != nil {
		return run, err
	}
	return d.announce(ctx, ended)
}

// announce withdraws the run's search, if it has one, publishes that the run has ended, and marks
// the join. Every dispatcher would publish the same event, so the log stores it once.
func (d *Dispatcher) announce(ctx context.Context, run held) (held, error) {
	if run.Ending.Announced {
		return run, nil
	}
	if err := d.withdraw(ctx, run, events.FunctionTune, deployed{}); err != nil {
		return run, err
	}
	event := events.NewRunEnded(events.RunEnded{
		Pipeline: run.Pipeline, Run: run.Run, Last: run.Last().Cause, At: run.Ending.At, Through: run.Ending.Through,
		Failure: &events.Failure{Kind: run.Ending.Kind, Err: errors.New(run.Ending.Message)},
	})
	event.Trace, event.TraceState = run.Last().Trace, run.Last().TraceState
	if err := d.publish(ctx, event); err != nil {
		return run, fmt.Errorf("publish the outcome of run %s of %s: %w", run.Run, run.Pipeline, err)
	}
	d.log.InfoContext(ctx, "run ended", "pipeline", run.Pipeline, "run", run.Run, "kind", run.Ending.Kind, "message", run.Ending.Message)
	announced, err := d.swap(ctx, run, run.Announced())
	if errors.Is(err, events.ErrConflict) {
		return run, nil
	}
	if err != nil {
		return run, err
	}
	return announced, nil
}

// publish publishes an event of our own, whose id is derived from its content. If another source,
// such as a mirror of the log, has published an event with that id, its content is the same:
// retrying would never end.
func (d *Dispatcher) publish(ctx context.Context, event events.Event) error {
	_, err := d.bus.Publish(ctx, event)
	if errors.Is(err, events.ErrConflict) {
		d.log.WarnContext(ctx, "event was already published by another source", "pipeline", event.Pipeline, "run", event.Run, "event", event.ID, "error", err)
		return nil
	}
	return err
}

// skipSearch publishes the event that replaces the result of a search which the run's tuner skips.
func (d *Dispatcher) skipSearch(ctx context.Context, run held, current deployed) error {
	skipped, ok := run.Skipped(current.spec)
	if !ok {
		return nil
	}
	var last *events.HParamsReady
	err := d.newest(ctx, run.Pipeline, events.KindHParamsReady, skipped.Cause.Sequence, func(data events.Data) {
		last = data.(*events.HParamsReady)
	})
	if err != nil {
		return err
	}
	event := events.NewNothingToReuse(skipped)
	if last != nil {
		event = events.NewHParamsReused(skipped, last)
	}
	if err := d.publish(ctx, event); err != nil {
		return fmt.Errorf("publish the skipped tuning of run %s of %s: %w", run.Run, run.Pipeline, err)
	}
	return nil
}
