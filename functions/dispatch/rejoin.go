package dispatch

import (
	"context"
	"errors"
	"fmt"

	"github.com/stoker-ml/stoker/events"
	"github.com/stoker-ml/stoker/functions/dispatch/join"
)

// Rejoin brings back the join of a run that the register has lost, from the log alone, for Again. The run has had its turn: its
// join comes back as dispatched, so that it is neither let through its pipeline's gate once more nor superseded there, and no job of
// this run or another is offered. A join that is there, and can be read, is left as it is.
func (d *Dispatcher) Rejoin(ctx context.Context, pipeline, run string) error {
	lost, err := d.read(ctx, pipeline, run)
	if err != nil || lost.at != 0 && lost.damage == nil {
		return err
	}
	j, err := d.lost(ctx, pipeline, run)
	if err != nil {
		return fmt.Errorf("join run %s of %s again: %w", run, pipeline, err)
	}
	_, err = d.swap(ctx, lost, j)
	if errors.Is(err, events.ErrConflict) {
		return nil // someone else has joined it
	}
	return err
}

// lost is what a run's join was when its job had been offered.
func (d *Dispatcher) lost(ctx context.Context, pipeline, run string) (join.Join, error) {
	current, err := d.pipeline(ctx, pipeline)
	if err != nil {
		return join.Join{}, err
	}
	past, err := d.past(ctx, pipeline, run)
	if err != nil {
		return join.Join{}, err
	}
	j, err := d.complete(ctx, past.Join(current.spec, run), current)
	if err != nil {
		return join.Join{}, err
	}
	if j.State != join.Complete {
		return join.Join{}, fmt.Errorf("by the log it is %s: there is no job that it could have", j.State)
	}
	return d.dispatched(ctx, j, current)
}
