package bustest

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/stoker-ml/stoker/events"
)

// claim is one job under a lease.
type claim struct {
	bus     *Memory
	message events.Message
	job     events.Job
	jobErr  error
	attempt events.Attempt

	held  holding
	until time.Time     // provably held before
	news  chan struct{} // holds a value after Cancel
}

var _ events.Claim = (*claim)(nil)

func (c *claim) Job() (events.Job, error) { return c.job, c.jobErr }
func (c *claim) Message() events.Message  { return c.message }
func (c *claim) Attempt() events.Attempt  { return c.attempt }

// KeepAlive implements events.Claim.
func (c *claim) KeepAlive(ctx context.Context, work func(context.Context) error) error {
	return events.KeepAlive(ctx, c, c.bus.terms.HeartbeatInterval(), work)
}

// Left implements events.Heartbeat.
func (c *claim) Left() time.Duration { return time.Until(c.until) }

// Changed implements events.Heartbeat.
func (c *claim) Changed() <-chan struct{} { return c.news }

// Prove implements events.Claim.
func (c *claim) Prove() error {
	c.bus.mu.Lock()
	defer c.bus.mu.Unlock()
	if c.Left() <= 0 || c.bus.holding(c.id()).lease.Holder != c.attempt.ID {
		return fmt.Errorf("job %s: %w", c.id(), events.ErrLeaseLost)
	}
	return nil
}

// Send implements events.Heartbeat.
func (c *claim) Send(ctx context.Context) error {
	c.bus.mu.Lock()
	defer c.bus.mu.Unlock()
	if err := c.bus.usable(ctx); err != nil {
		return err
	}
	if err := c.replace(events.Lease.Renewed); err != nil {
		return err
	}
	if c.held.lease.Cancelled && !c.attempt.Cancelled {
		return events.ErrCancelled
	}
	return nil
}

// replace writes the changed lease. Others may have written to it while it is held: to cancel the
// job, or to report that an earlier worker is alive.
func (c *claim) replace(change func(events.Lease) events.Lease) error {
	now := time.Now()
	if err := c.reread(); err != nil {
		return err
	}
	next := change(c.held.lease)
	c.held = holding{lease: next, revision: c.bus.write(c.id(), next, c.held.revision)}
	c.until = c.bus.terms.Until(now)
	return nil
}

// reread returns ErrLeaseLost if another attempt has the lease.
func (c *claim) reread() error {
	now := c.bus.holding(c.id())
	if now.lease.Holder != c.attempt.ID || now.lease.Message != c.message.Sequence {
		return fmt.Errorf("%w: another attempt has job %s", events.ErrLeaseLost, c.id())
	}
	c.held = now
	return nil
}

// Ack implements events.Claim.
func (c *claim) Ack(ctx context.Context) error {
	return c.settle(ctx, c.remove)
}

// Nak implements events.Claim.
func (c *claim) Nak(ctx context.Context, delay time.Duration, cause events.FailureKind, why string) error {
	return c.settle(ctx, func() error {
		release := func(l events.Lease) events.Lease { return l.Released(cause, why) }
		if err := c.replace(release); err != nil {
			return err
		}
		c.bus.jobs.delay(c.message.Sequence, delay)
		c.until = time.Time{}
		return nil
	})
}

// Term implements events.Claim.
func (c *claim) Term(ctx context.Context, reason events.DeadReason) error {
	return c.settle(ctx, func() error {
		err := c.bus.deadLetter(ctx, events.DeadLetter{Message: c.message, Reason: reason})
		return errors.Join(err, c.remove())
	})
}

func (c *claim) remove() error {
	if err := c.reread(); err != nil {
		return err
	}
	if err := c.bus.leases().remove(c.id(), c.held.revision); err != nil {
		return err
	}
	c.bus.jobs.remove(c.message.Sequence)
	c.until = time.Time{}
	return nil
}

// settle calls how if the lease is provably held.
func (c *claim) settle(ctx context.Context, how func() error) error {
	c.bus.mu.Lock()
	defer c.bus.mu.Unlock()
	if err := c.bus.usable(ctx); err != nil {
		return fmt.Errorf("settle job %s: %w", c.id(), err)
	}
	if c.Left() <= 0 {
		return fmt.Errorf("settle job %s: %w", c.id(), events.ErrLeaseLost)
	}
	defer c.bus.wake()
	return how()
}

func (c *claim) id() string { return events.JobID(c.message.Subject) }
