package dispatch

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/stoker-ml/stoker/events"
)

// turnKey is an entry among the gates that is written by whoever sweeps.
const turnKey = sweepPrefix + "turn"

// turn says whether it is this dispatcher's turn to sweep: nobody has for most of an interval, and nobody else has just begun.
func (d *Dispatcher) turn(ctx context.Context, interval time.Duration) (bool, error) {
	now, err := d.now(ctx)
	if err != nil {
		return false, err
	}
	last, err := d.gates.Get(ctx, turnKey)
	if err != nil && !errors.Is(err, events.ErrNotFound) {
		return false, fmt.Errorf("look up the last sweep: %w", err)
	}
	d.heard(last)
	since := now.Sub(last.Written) // below zero when the bus's clock was set back: to sweep too often is harmless, never is not
	if last.Revision != 0 && since >= 0 && since < interval*3/4 {
		return false, nil
	}
	value, err := d.sweptTo()
	if err == nil {
		err = d.stamp(ctx, turnKey, last, value)
	}
	if errors.Is(err, events.ErrConflict) {
		return false, nil
	}
	return err == nil, err
}
