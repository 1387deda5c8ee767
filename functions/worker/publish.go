package worker

import (
	"context"
	"errors"
	"fmt"

	"github.com/stoker-ml/stoker/events"
)

// publish publishes the events of the task. If the log has another result under the same name, one
// that was lost before its generation was counted, publish returns the generation that the task's
// result must have instead; else 0. It returns an over, and publishes nothing, if the job's outcome
// or its run's end is in the log by now.
func (a attempt) publish(ctx context.Context, evs []events.Event) (generation int, err error) {
	if len(evs) > 0 {
		if err := a.isOver(ctx); err != nil {
			return 0, err
		}
	}
	for _, event := range evs {
		if err := a.task.Prove(); err != nil {
			return 0, err
		}
		receipt, err := a.bus.Publish(ctx, event)
		if err != nil {
			return 0, unpublished(event, err)
		}
		output, ok := events.OutputOf(event.Data)
		if !ok || !receipt.Duplicate {
			continue
		}
		same, err := a.names(ctx, receipt.Sequence, output.URI)
		if err != nil {
			return 0, err
		}
		if !same {
			return output.Generation + 1, nil
		}
	}
	return 0, nil
}

// names reports whether an event of the log names that result.
func (a attempt) names(ctx context.Context, sequence uint64, uri string) (bool, error) {
	for recorded, err := range a.bus.Read(ctx, events.Query{From: sequence, Until: sequence + 1}) {
		if err != nil {
			return false, fmt.Errorf("read event %d, which was published before: %w", sequence, err)
		}
		published, _ := events.OutputOf(recorded.Event.Data)
		return published.URI == uri, nil
	}
	return false, fmt.Errorf("read event %d, which was published before: %w", sequence, events.ErrNotFound)
}

// unpublished returns the error of a job whose event the bus refused: an event that is invalid, or
// too large, is never accepted, however often the job is done. A permission that the worker lacks
// may be granted later.
func unpublished(event events.Event, err error) error {
	err = fmt.Errorf("publish %s of run %s: %w", event.Data.Kind(), event.Run, err)
	if _, invalid := errors.AsType[*events.Invalid](err); invalid || errors.Is(err, events.ErrTooLarge) {
		return events.Fail(events.FailureCheck, err)
	}
	return err
}
