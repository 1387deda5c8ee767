package jetstream

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"github.com/stoker-ml/stoker/events"
)

// Enqueue implements events.JobQueue.
func (b *Bus) Enqueue(ctx context.Context, j events.Job) error {
	if err := j.Validate(); err != nil {
		return err
	}
	body, err := json.Marshal(j)
	if err != nil {
		return fmt.Errorf("encode job %s: %w", j.ID, err)
	}
	msg := &nats.Msg{Subject: events.JobSubject(j), Header: nats.Header{"Content-Type": {"application/json"}}, Data: body}
	if _, err := b.once(ctx, events.StreamJobs, msg); err != nil && !errors.Is(err, events.ErrConflict) {
		return fmt.Errorf("enqueue job %s: %w", j.ID, err)
	}
	return nil
}

// turn is how long Claim waits for one of several classes before the next. A single class is
// awaited without turns.
const turn = 100 * time.Millisecond

// Claim implements events.JobQueue. It tries the classes in the order given, one at a time, so that
// it never holds a second job; a job of the n-th class may wait for n-1 turns.
func (b *Bus) Claim(ctx context.Context, f events.Function, classes []string, wait time.Duration) (events.Claim, error) {
	if err := checkClasses(classes); err != nil {
		return nil, fmt.Errorf("claim a %s job: %w", f, err)
	}
	if err := b.observe(ctx); err != nil {
		return nil, err
	}
	deadline := b.opts.Now().Add(wait)
	for round := 0; ; round++ {
		for _, class := range classes {
			left := deadline.Sub(b.opts.Now())
			claim, err := b.takeOne(ctx, jobConsumer(f, class), share(left, round, len(classes)))
			if claim != nil || err != nil {
				return claim, err
			}
		}
		if deadline.Sub(b.opts.Now()) <= 0 {
			return nil, fmt.Errorf("claim a %s job: %w", f, events.ErrEmpty)
		}
	}
}

// checkClasses also rejects what would be more than one token of a subject.
func checkClasses(classes []string) error {
	if len(classes) == 0 {
		return &events.Invalid{Field: "class", Expected: "at least one class"}
	}
	for _, class := range classes {
		if err := events.CheckClass("class", class); err != nil {
			return err
		}
	}
	return nil
}

// share returns how long to wait for one of several classes: not at all in the first round, which
// finds waiting jobs.
func share(left time.Duration, round, classes int) time.Duration {
	switch {
	case classes == 1:
		return left
	case round == 0:
		return 0
	}
	return min(left, turn)
}

// takeOne waits for one message and claims its job. If another attempt may still work on the job,
// it returns the message, with neither claim nor error.
func (b *Bus) takeOne(ctx context.Context, d ConsumerDefinition, wait time.Duration) (events.Claim, error) {
	msg, err := b.next(ctx, d, wait)
	if err != nil || msg == nil {
		return nil, err
	}
	// From here on this process must settle the message, so ctx continues for a moment after its
	// end.
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), b.terms.HeartbeatInterval())
	defer cancel()
	claim, busy, err := b.claim(ctx, msg)
	if err != nil {
		return nil, errors.Join(fmt.Errorf("claim job %s: %w", events.JobID(msg.Subject()), err), msg.NakWithDelay(b.terms.HeartbeatInterval()))
	}
	if busy > 0 {
		b.log.Debug("job is not free yet", "job", events.JobID(msg.Subject()), "again_in", busy)
		return nil, msg.NakWithDelay(busy)
	}
	return claim, nil
}

// next pulls one message, waiting up to wait. It returns neither message nor error if there was
// none. If ctx ends first, a message in flight is returned to the bus.
func (b *Bus) next(ctx context.Context, d ConsumerDefinition, wait time.Duration) (jetstream.Msg, error) {
	ctx, unbind := b.untilClosed(ctx)
	defer unbind()
	consumer, err := b.consumers.open(ctx, d)
	if err != nil {
		return nil, b.explain(ctx, err)
	}
	ctx, done := b.refusals.expect(ctx, nextOf(d))
	defer done()
	batch, err := pull(consumer, wait)
	if err != nil {
		b.consumers.forget(d)
		return nil, fmt.Errorf("pull from %s: %w", d.Name, b.explain(ctx, err))
	}
	select {
	case msg := <-batch.Messages():
		err := batch.Error()
		if err == nil {
			err = context.Cause(ctx)
		}
		if msg == nil && err != nil {
			b.consumers.forget(d)
			return nil, fmt.Errorf("pull from %s: %w", d.Name, b.explain(ctx, err))
		}
		return msg, nil
	case <-ctx.Done():
		if b.closing.Err() == nil {
			b.background(func(closing context.Context) { handBack(closing, batch) })
		}
		return nil, fmt.Errorf("pull from %s: %w", d.Name, context.Cause(ctx))
	}
}

const shortestPull = time.Millisecond // of a pull that waits: the server accepts no less

func pull(consumer jetstream.Consumer, wait time.Duration) (jetstream.MessageBatch, error) {
	if wait < shortestPull {
		return consumer.FetchNoWait(1)
	}
	return consumer.Fetch(1, jetstream.FetchMaxWait(wait))
}

// handBack returns a message that arrives after its reader has stopped waiting, for as long as the
// server may send one.
func handBack(closing context.Context, batch jetstream.MessageBatch) {
	select {
	case msg := <-batch.Messages():
		if msg != nil {
			_ = msg.Nak() // if the connection is gone, the server redelivers it by itself
		}
	case <-closing.Done():
	}
}

// Notify implements events.BucketNotifications.
func (b *Bus) Notify(ctx context.Context, from string, message []byte) error {
	subject := events.BucketSubject(from)
	ctx, done := b.refusals.expect(ctx, subject)
	defer done()
	if _, err := b.js.Publish(ctx, subject, message); err != nil {
		return fmt.Errorf("publish %s: %w", subject, b.explain(ctx, err))
	}
	return nil
}

// consumers caches handles of durable consumers, because each look-up is a request to the server.
type consumers struct {
	js    jetstream.JetStream
	lease time.Duration

	mu    sync.Mutex
	known map[string]jetstream.Consumer // by stream and name
}

// open finds a consumer, or creates it if it does not exist.
func (c *consumers) open(ctx context.Context, d ConsumerDefinition) (jetstream.Consumer, error) {
	c.mu.Lock()
	consumer, ok := c.known[d.key()]
	c.mu.Unlock()
	if ok {
		return consumer, nil
	}
	ctx, cancel := context.WithTimeoutCause(ctx, answerTime, errNoAnswer)
	defer cancel()
	consumer, err := c.js.Consumer(ctx, d.Stream, d.Name)
	if errors.Is(err, jetstream.ErrConsumerNotFound) {
		consumer, err = makeConsumer(ctx, c.js, d, c.lease)
	}
	if err != nil {
		return nil, fmt.Errorf("open consumer %s of %s: %w", d.Name, d.Stream, err)
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.known[d.key()] = consumer
	return consumer, nil
}

// forget drops a handle that no longer works; the next open looks it up again.
func (c *consumers) forget(d ConsumerDefinition) {
	c.mu.Lock()
	defer c.mu.Unlock()
	delete(c.known, d.key())
}

func (d ConsumerDefinition) key() string { return d.Stream + "/" + d.Name }
