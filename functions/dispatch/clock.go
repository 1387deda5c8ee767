package dispatch

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/stoker-ml/stoker/events"
)

// clockKey is an entry in the bucket of admissions that is written to read the time of the bus.
const clockKey = sweepPrefix + "clock"

// now returns the time by the clock of the server that leads the admissions. The other servers of a
// cluster and this machine have clocks of their own: see join.Clocks.
func (d *Dispatcher) now(ctx context.Context) (time.Time, error) {
	for pause := (events.Pause{}); ; {
		before, err := d.admissions.Get(ctx, clockKey)
		if errors.Is(err, events.ErrNotFound) {
			before, err = events.Entry{}, nil
		}
		if err == nil {
			err = d.stamp(ctx, clockKey, before, []byte("{}"))
		}
		// Another dispatcher read the clock at the same moment.
		if errors.Is(err, events.ErrConflict) {
			if err = pause.Wait(ctx); err == nil {
				continue
			}
		}
		if err != nil {
			return time.Time{}, fmt.Errorf("ask the bus for the time: %w", err)
		}
		written, err := d.admissions.Get(ctx, clockKey)
		if err != nil {
			return time.Time{}, fmt.Errorf("ask the bus for the time: %w", err)
		}
		return written.Written, nil
	}
}

// stamp writes an entry again, so that the bus records the time of the write.
func (d *Dispatcher) stamp(ctx context.Context, key string, before events.Entry, value []byte) (err error) {
	if before.Revision == 0 {
		_, err = d.admissions.Create(ctx, key, value)
	} else {
		_, err = d.admissions.Update(ctx, key, value, before.Revision)
	}
	return err
}

// turnKey is an entry in the bucket of admissions that each sweep writes.
const turnKey = sweepPrefix + "turn"

// turn reports whether it is this dispatcher's turn to sweep: no dispatcher has swept for most of
// an interval, and no other has just begun to.
func (d *Dispatcher) turn(ctx context.Context, interval time.Duration) (bool, error) {
	now, err := d.now(ctx)
	if err != nil {
		return false, err
	}
	last, err := d.admissions.Get(ctx, turnKey)
	if err != nil && !errors.Is(err, events.ErrNotFound) {
		return false, fmt.Errorf("look up the last sweep: %w", err)
	}
	d.heard(last)
	// Negative if the bus's clock was set back: sweeping too often is harmless, not sweeping is
	// not.
	since := now.Sub(last.Written)
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
