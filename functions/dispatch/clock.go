package dispatch

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/stoker-ml/stoker/events"
)

// clockKey is an entry among the gates that is written to learn what time it is.
const clockKey = sweepPrefix + "clock"

// now is the time by the clock of the server that leads the gates. The servers of a cluster have
// clocks of their own, and so has this machine: join.Clocks has what a run is ended by.
func (d *Dispatcher) now(ctx context.Context) (time.Time, error) {
	for pause := (events.Pause{}); ; {
		before, err := d.gates.Get(ctx, clockKey)
		if errors.Is(err, events.ErrNotFound) {
			before, err = events.Entry{}, nil
		}
		if err == nil {
			err = d.stamp(ctx, clockKey, before, []byte("{}"))
		}
		if errors.Is(err, events.ErrConflict) { // someone else looked at the clock in the same moment
			if err = pause.Wait(ctx); err == nil {
				continue
			}
		}
		if err != nil {
			return time.Time{}, fmt.Errorf("ask the bus for the time: %w", err)
		}
		written, err := d.gates.Get(ctx, clockKey)
		if err != nil {
			return time.Time{}, fmt.Errorf("ask the bus for the time: %w", err)
		}
		return written.Written, nil
	}
}

// stamp writes an entry anew, so that the bus notes when.
func (d *Dispatcher) stamp(ctx context.Context, key string, before events.Entry, value []byte) (err error) {
	if before.Revision == 0 {
		_, err = d.gates.Create(ctx, key, value)
	} else {
		_, err = d.gates.Update(ctx, key, value, before.Revision)
	}
	return err
}
