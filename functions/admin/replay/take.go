package replay

import (
	"context"
	"errors"
	"fmt"

	"github.com/stoker-ml/stoker/events"
	"github.com/stoker-ml/stoker/functions/dispatch/join"
	"github.com/stoker-ml/stoker/functions/runs"
)

// take has the effects of one step.
func (r *Replay) take(ctx context.Context, step Step) (Progress, error) {
	if step.Action == Join {
		return r.rejoin(ctx, step)
	}
	if step.rejoin {
		if err := r.dispatcher.Rebuild(ctx, step.Pipeline, step.Run.Run); err != nil {
			return Progress{}, err
		}
	}
	if step.Action == Tune {
		job, err := r.dispatcher.Retry(ctx, step.Pipeline, step.Run.Run, events.FunctionTune, step.again)
		return Progress{Did: Offered, Job: job.ID}, err
	}
	job, err := r.dispatcher.Retry(ctx, step.Pipeline, step.Run.Run, events.FunctionTrain, step.again)
	return Progress{Did: Offered, Job: job.ID}, err
}

// rejoin handles the events of a run again. The run may get its job by that.
func (r *Replay) rejoin(ctx context.Context, step Step) (Progress, error) {
	if err := redo(ctx, r.bus, r.dispatcher, step.events); err != nil {
		return Progress{}, err
	}
	j, err := runs.Open(r.bus, runs.Options{}).Join(ctx, step.Run)
	if errors.Is(err, events.ErrNotFound) {
		return Progress{Did: Joined}, nil // its events alone make no join
	}
	if err != nil || j.State != join.Dispatched {
		return Progress{Did: Joined}, err
	}
	return Progress{Did: Offered, Job: j.Current().Job}, nil
}

// redo handles events again, in order. An event that is refused was refused before, and is a dead
// letter; if all are refused, redo returns that error.
func redo(ctx context.Context, bus events.EventLog, d Handler, evs []uint64) error {
	var refused error
	taken := 0
	for _, sequence := range evs {
		recorded, err := readEventOrData(ctx, bus, sequence)
		if err != nil {
			return err
		}
		err = d.Handle(ctx, recorded)
		if _, again := events.AsKind(err, events.FailureInput); again {
			refused = fmt.Errorf("event %d is refused: %w", sequence, err)
			continue
		}
		if err != nil {
			return fmt.Errorf("handle event %d again: %w", sequence, err)
		}
		taken++
	}
	if taken == 0 {
		return refused
	}
	return nil
}
