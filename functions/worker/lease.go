package worker

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"time"

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

// DefaultLost is Limits.Lost if a function does not set it.
const DefaultLost = 5

// reportTime is how long a job that is to be given up waits for reports of live workers. After an
// outage of the bus the reports and the attempt that counts them arrive at the same time.
const reportTime = 15 * time.Second

// countLost returns a final failure if as many workers as Limits.Lost have died with the job.
func (a attempt) countLost(ctx context.Context) error {
	limit := cmp.Or(a.function.Limits(a.task.Job).Lost, DefaultLost)
	if a.task.Attempt.Cancelled || a.task.Attempt.Lost < limit {
		return nil
	}
	select {
	case <-ctx.Done():
		return context.Cause(ctx)
	case <-time.After(reportTime):
	}
	lost, err := a.lost(ctx)
	if err != nil || lost < limit {
		return err
	}
	return final{&events.Failure{Kind: events.FailureCrash, Err: fmt.Errorf(
		"%d workers died while they executed this job: each was killed, or lost its machine. A job that needs more memory than its worker's pod has can cause this", lost)}}
}

// lost counts the attempts whose worker died, as far as is known now.
func (a attempt) lost(ctx context.Context) (int, error) {
	leases, err := a.bus.KV(ctx, events.KVLeases)
	if err != nil {
		return 0, fmt.Errorf("open the leases: %w", err)
	}
	entry, err := leases.Get(ctx, a.task.Job.ID)
	if err != nil {
		return 0, fmt.Errorf("read the lease of job %s: %w", a.task.Job.ID, err)
	}
	lease, err := events.DecodeLease(entry)
	return len(lease.Lost), err
}

// reportAlive withdraws the assumption that this attempt's worker has died, because the attempt
// could not release its lease. It retries until the bus answers, or until settleTime after ctx has
// ended: a worker that stops before that counts as dead.
func (a attempt) reportAlive(ctx context.Context) {
	ctx, cancel := outlive(ctx)
	defer cancel()
	for {
		err := a.survived(ctx)
		if err == nil {
			return
		}
		if errors.Is(err, events.ErrClosed) || errors.Is(err, events.ErrRefused) {
			a.log.WarnContext(ctx, "lost attempt not withdrawn; it counts as a dead worker", "error", err)
			return
		}
		select {
		case <-ctx.Done():
			a.log.WarnContext(ctx, "lost attempt not withdrawn; it counts as a dead worker", "error", err)
			return
		case <-time.After(retryDelay):
		}
	}
}

// outlive returns a ctx that ends settleTime after ctx has.
func outlive(ctx context.Context) (context.Context, context.CancelFunc) {
	longer, cancel := context.WithCancel(context.WithoutCancel(ctx))
	stop := context.AfterFunc(ctx, func() { time.AfterFunc(settleTime, cancel) })
	return longer, func() { stop(); cancel() }
}

// survived records in the lease that the attempt's worker is alive.
func (a attempt) survived(ctx context.Context) error {
	err := a.rewriteLease(ctx, func(lease events.Lease) (events.Lease, bool, error) {
		lease, changed := lease.Survived(a.task.Attempt.ID, "its worker lost the connection to the bus")
		return lease, changed, nil
	})
	if errors.Is(err, events.ErrNotFound) {
		return nil // the job is done
	}
	return err
}
