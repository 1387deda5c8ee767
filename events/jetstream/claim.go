package jetstream

import (
	"context"
	"fmt"
	"time"

	"github.com/nats-io/nats.go/jetstream"

	"github.com/stoker-ml/stoker/events"
)

// claim is one delivered job and its lease. KeepAlive has returned before Ack, Nak or Term is
// called, so it needs no lock.
type claim struct {
	bus     *Bus
	msg     jetstream.Msg
	message events.Message
	job     events.Job
	jobErr  error
	attempt events.Attempt
	held    *held
}

var _ events.Claim = (*claim)(nil)

// claim claims the lease of a delivered job. If the job is not free, busy is when to check again.
func (b *Bus) claim(ctx context.Context, msg jetstream.Msg) (_ events.Claim, busy time.Duration, err error) {
	message, err := received(msg)
	if err != nil {
		return nil, 0, err
	}
	held, busy, err := b.lease(ctx, events.JobID(message.Subject), message.Sequence)
	if err != nil || busy > 0 {
		return nil, busy, err
	}
	c := &claim{bus: b, msg: msg, message: message, attempt: held.lease.Attempt(), held: held}
	c.job, c.jobErr = readJob(message)
	return c, 0, nil
}

// readJob also checks that the job is on its own subject, since permissions are by subject.
func readJob(message events.Message) (events.Job, error) {
	job, err := events.DecodeJob(message.Body)
	if err != nil {
		return events.Job{}, err
	}
	if want := events.JobSubject(job); want != message.Subject {
		return events.Job{}, &events.Invalid{Field: "NATS subject", Expected: want, Got: message.Subject}
	}
	return job, nil
}

func (c *claim) Job() (events.Job, error) { return c.job, c.jobErr }
func (c *claim) Message() events.Message  { return c.message }
func (c *claim) Attempt() events.Attempt  { return c.attempt }

// Prove implements events.Claim.
func (c *claim) Prove() error {
	if err := c.held.prove(); err != nil {
		return fmt.Errorf("job %s: %w", c.id(), err)
	}
	return nil
}

// KeepAlive implements events.Claim.
func (c *claim) KeepAlive(ctx context.Context, work func(context.Context) error) error {
	return events.KeepAlive(ctx, heartbeat{c}, c.bus.terms.HeartbeatInterval(), work)
}

// heartbeat renews a claim's lease.
type heartbeat struct{ *claim }

// Left implements events.Heartbeat.
func (h heartbeat) Left() time.Duration { return h.held.left() }

// Changed implements events.Heartbeat.
func (h heartbeat) Changed() <-chan struct{} { return h.held.mark.news }

// Send implements events.Heartbeat: it confirms the lease, and then keeps the bus from redelivering
// the job. It gives up early enough for another try.
func (h heartbeat) Send(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, min(h.held.left(), h.bus.terms.HeartbeatInterval()/2))
	defer cancel()
	err := h.held.beat(ctx)
	if err == nil {
		err = h.msg.InProgress()
	}
	if err != nil {
		return fmt.Errorf("heartbeat of job %s, attempt %s: %w", h.id(), h.attempt.ID, h.bus.explain(ctx, err))
	}
	if h.held.lease.Cancelled && !h.attempt.Cancelled {
		return events.ErrCancelled
	}
	return nil
}

// Ack implements events.Claim. The lease is removed last: if the worker dies in between, it
// expires.
func (c *claim) Ack(ctx context.Context) error {
	ctx, cancel, err := c.proven(ctx)
	if err != nil {
		return err
	}
	defer cancel()
	if err := c.msg.DoubleAck(ctx); err != nil {
		return fmt.Errorf("acknowledge job %s: %w", c.id(), c.bus.explain(ctx, err))
	}
	c.drop(ctx)
	return nil
}

// Nak implements events.Claim. The lease is released first, so that it is free when the job is
// redelivered.
func (c *claim) Nak(ctx context.Context, delay time.Duration, cause events.FailureKind, why string) error {
	ctx, cancel, err := c.proven(ctx)
	if err != nil {
		return err
	}
	defer cancel()
	if err := c.held.release(ctx, cause, why); err != nil {
		return fmt.Errorf("hand back job %s: %w", c.id(), err)
	}
	c.held.end()
	if err := later(c.msg, delay); err != nil {
		return fmt.Errorf("hand back job %s: %w", c.id(), c.bus.explain(ctx, err))
	}
	return c.bus.flush(ctx)
}

// Term implements events.Claim. A dead-lettered message is acknowledged, not terminated: the server
// confirms that, and its advisories of terminated messages remain for those that other clients
// terminate.
func (c *claim) Term(ctx context.Context, reason events.DeadReason) error {
	ctx, cancel, err := c.proven(ctx)
	if err != nil {
		return err
	}
	defer cancel()
	if err := c.bus.DeadLetter(ctx, events.DeadLetter{Message: c.message, Reason: reason}); err != nil {
		return err
	}
	if err := c.held.prove(); err != nil {
		return err
	}
	if err := c.msg.DoubleAck(ctx); err != nil {
		return fmt.Errorf("remove job %s from its queue: %w", c.id(), c.bus.explain(ctx, err))
	}
	c.drop(ctx)
	return nil
}

// proven returns a ctx that ends no later than the lease, which is provably held now.
func (c *claim) proven(ctx context.Context) (context.Context, context.CancelFunc, error) {
	if err := c.held.prove(); err != nil {
		return nil, nil, fmt.Errorf("settle job %s: %w", c.id(), err)
	}
	ctx, cancel := context.WithTimeoutCause(ctx, c.held.left(), events.ErrLeaseLost)
	return ctx, cancel, nil
}

func (c *claim) id() string { return events.JobID(c.message.Subject) }

// drop removes the lease; if one remains, the same job has to wait for its expiry when it is
// enqueued again.
func (c *claim) drop(ctx context.Context) {
	if err := c.held.drop(ctx); err != nil {
		c.bus.log.Warn("lease not removed", "job", c.id(), "error", err)
	}
	c.held.end()
}
