package gc

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/stoker-ml/stoker/events"
)

// leaseOver is far longer than any lease lasts without a heartbeat.
const leaseOver = time.Hour

// leased are the attempts that hold a lease: whoever they are, they may be at work. A lease counts while its job is on the queue. One
// whose job is not there was left by a worker that died between taking it off and removing the lease, or belongs to one from under
// whom others took the job: it counts for as long as it may still have been confirmed by the bus's clock, of which seen is a time that
// has come.
func leased(ctx context.Context, box events.Letterbox, seen time.Time) (map[string]bool, error) {
	entries, err := entriesOf(ctx, box, events.RegisterLeases)
	if err != nil {
		return nil, err
	}
	gates, err := entriesOf(ctx, box, events.RegisterGates) // dispatchers write there every minute
	if err != nil {
		return nil, err
	}
	for _, entry := range append(gates, entries...) {
		seen = latest(seen, entry.Written)
	}
	holders := map[string]bool{}
	for _, entry := range entries {
		lease, err := events.DecodeLease(events.Entry(entry))
		if err != nil {
			return nil, err
		}
		counts := entry.Written.After(seen.Add(-leaseOver))
		if !counts {
			counts, err = isQueued(ctx, box, entry.Key)
		}
		if err != nil {
			return nil, err
		}
		if counts && lease.Holder != "" {
			holders[lease.Holder] = true
		}
	}
	return holders, nil
}

func entriesOf(ctx context.Context, box events.Letterbox, name string) (all []events.Copy, err error) {
	register, err := box.Register(ctx, name)
	if err != nil {
		return nil, fmt.Errorf("open %s: %w", name, err)
	}
	for entry, err := range register.All(ctx) {
		if err != nil {
			return nil, fmt.Errorf("read %s: %w", name, err)
		}
		all = append(all, entry)
	}
	return all, nil
}

func isQueued(ctx context.Context, box events.Letterbox, job string) (bool, error) {
	_, err := box.Queued(ctx, job)
	if errors.Is(err, events.ErrNotFound) {
		return false, nil
	}
	return err == nil, err
}

func latest(a, b time.Time) time.Time {
	if a.After(b) {
		return a
	}
	return b
}
