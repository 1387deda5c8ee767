package worker

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"

	"github.com/stoker-ml/stoker/events"
)

// rewriteLease replaces the job's lease, as the leader of the bucket has it, by the result of
// change; changed is false if there is nothing to write. A lease that can't be decoded is left as
// it is. It returns events.ErrNotFound if the job has left its queue.
func (a attempt) rewriteLease(ctx context.Context, change func(events.Lease) (lease events.Lease, changed bool, err error)) error {
	leases, err := a.bus.KV(ctx, events.KVLeases)
	if err != nil {
		return fmt.Errorf("open the leases: %w", err)
	}
	var pause events.Pause
	for {
		entry, err := leases.Get(ctx, a.task.Job.ID)
		if err != nil {
			return fmt.Errorf("read the lease of job %s: %w", a.task.Job.ID, err)
		}
		if err = a.replaceLease(ctx, leases, entry, change); !errors.Is(err, events.ErrConflict) {
			return err
		}
		if err := pause.Wait(ctx); err != nil {
			return err
		}
	}
}

// replaceLease replaces one revision of the lease by the result of change.
func (a attempt) replaceLease(ctx context.Context, leases events.KV, entry events.Entry, change func(events.Lease) (events.Lease, bool, error)) error {
	lease, err := events.DecodeLease(entry)
	if err != nil {
		return nil // not written by a worker
	}
	lease, changed, err := change(lease)
	if err != nil || !changed {
		return err
	}
	value, err := json.Marshal(lease)
	if err != nil {
		return fmt.Errorf("encode the lease of job %s: %w", a.task.Job.ID, err)
	}
	if _, err = leases.Update(ctx, a.task.Job.ID, value, entry.Revision); err != nil {
		return fmt.Errorf("write the lease of job %s: %w", a.task.Job.ID, err)
	}
	return nil
}

// recordGivenUp records in the lease that the job is given up, unless an earlier attempt has.
func (a attempt) recordGivenUp(ctx context.Context, failure *events.Failure) error {
	if a.task.Attempt.GivenUp != nil {
		return nil
	}
	return a.rewriteLease(ctx, func(lease events.Lease) (events.Lease, bool, error) {
		if lease.Holder != a.task.Attempt.ID {
			return lease, false, fmt.Errorf("job %s: %w: attempt %d holds it", a.task.Job.ID, events.ErrLeaseLost, lease.Number)
		}
		lease.GivenUp = failure.GivenUp()
		return lease, true, nil
	})
}
