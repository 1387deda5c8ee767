package eventstest

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/stoker-ml/stoker/events"
)

// claim is one job under a lease.
type claim struct {
	box     *Memory
	message events.Message
	job     events.Job
	jobErr  error
	attempt events.Attempt

	held  holding
	until time.Time     // provably ours before
	news  chan struct{} // holds something after Cancel
}

var _ events.Claim = (*claim)(nil)

func (c *claim) Job() (events.Job, error) { return c.job, c.jobErr }
func (c *claim) Message() events.Message  { return c.message }
func (c *claim) Attempt() events.Attempt  { return c.attempt }

// Hold implements events.Claim.
func (c *claim) Hold(ctx context.Context, work func(context.Context) error) error {
	return events.Hold(ctx, c, c.box.terms.Beat(), work)
}

// Left implements events.Heart.
func (c *claim) Left() time.Duration { return time.Until(c.until) }

// News implements events.Heart.
func (c *claim) News() <-chan struct{} { return c.news }

// Prove implements events.Claim.
func (c *claim) Prove() error {
	c.box.mu.Lock()
	defer c.box.mu.Unlock()
	if c.Left() <= 0 || c.box.holding(c.id()).lease.Holder != c.attempt.ID {
		return fmt.Errorf("job %s: %w", c.id(), events.ErrLeaseLost)
	}
	return nil
}

// Beat implements events.Heart.
func (c *claim) Beat(ctx context.Context) error {
	c.box.mu.Lock()
	defer c.box.mu.Unlock()
	if err := c.box.usable(ctx); err != nil {
		return err
	}
	if err := c.replace(events.Lease.Beaten); err != nil {
		return err
	}
	if c.held.lease.Cancelled && !c.attempt.Cancelled {
		return events.ErrCancelled
	}
	return nil
}

// replace writes what change makes of the lease, which others may have written to while it is ours: to cancel the job, or to report
// that an earlier worker is alive.
func (c *claim) replace(change func(events.Lease) events.Lease) error {
	now := time.Now()
	if err := c.reread(); err != nil {
		return err
	}
	next := change(c.held.lease)
	c.held = holding{lease: next, revision: c.box.write(c.id(), next, c.held.revision)}
	c.until = c.box.terms.Until(now)
	return nil
}

// reread returns ErrLeaseLost if another attempt has the lease by now.
func (c *claim) reread() error {
	now := c.box.holding(c.id())
	if now.lease.Holder != c.attempt.ID || now.lease.Message != c.message.Sequence {
		return fmt.Errorf("%w: another attempt has job %s", events.ErrLeaseLost, c.id())
	}
	c.held = now
	return nil
}

// Done implements events.Claim.
func (c *claim) Done(ctx context.Context) error {
	return c.settle(ctx, c.remove)
}

// Later implements events.Claim.
func (c *claim) Later(ctx context.Context, delay time.Duration, cause events.FailureKind, why string) error {
	return c.settle(ctx, func() error {
		release := func(l events.Lease) events.Lease { return l.Released(cause, why) }
		if err := c.replace(release); err != nil {
			return err
		}
		c.box.jobs.delay(c.message.Sequence, delay)
		c.until = time.Time{}
		return nil
	})
}

// Never implements events.Claim.
func (c *claim) Never(ctx context.Context, reason events.DeadReason) error {
	return c.settle(ctx, func() error {
		err := c.box.bury(ctx, events.DeadLetter{Message: c.message, Reason: reason})
		return errors.Join(err, c.remove())
	})
}

func (c *claim) remove() error {
	if err := c.reread(); err != nil {
		return err
	}
	if err := c.box.leases().remove(c.id(), c.held.revision); err != nil {
		return err
	}
	c.box.jobs.remove(c.message.Sequence)
	c.until = time.Time{}
	return nil
}

// settle does how if the lease is provably ours.
func (c *claim) settle(ctx context.Context, how func() error) error {
	c.box.mu.Lock()
	defer c.box.mu.Unlock()
	if err := c.box.usable(ctx); err != nil {
		return fmt.Errorf("settle job %s: %w", c.id(), err)
	}
	if c.Left() <= 0 {
		return fmt.Errorf("settle job %s: %w", c.id(), events.ErrLeaseLost)
	}
	defer c.box.wake()
	return how()
}

func (c *claim) id() string { return events.JobID(c.message.Subject) }
