package jetstream

import (
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/nats-io/nats.go/jetstream"

	"github.com/stoker-ml/stoker/events"
)

// deadLetterDelivery is a dead letter handed to a listener.
type deadLetterDelivery struct {
	*delivery
	deadLetter events.DeadLetter
}

var _ events.DeadLetterDelivery = (*deadLetterDelivery)(nil)

// Listen implements events.Listeners.
func (b *Bus) Listen(ctx context.Context, listener string, kinds []events.Kind, wait time.Duration) (events.EventDelivery, error) {
	heard := listenConsumer(events.StreamEvents, listener, events.EventFilters(events.Query{Kinds: kinds}))
	notice, err := b.listen(ctx, heard, wait)
	if err != nil {
		return nil, fmt.Errorf("listen to events as %s: %w", listener, err)
	}
	return &eventDelivery{delivery: notice, recorded: record(notice.message)}, nil
}

// ListenDead implements events.Listeners. Advisories of messages that have a dead letter are
// skipped.
func (b *Bus) ListenDead(ctx context.Context, listener string, wait time.Duration) (events.DeadLetterDelivery, error) {
	heard := listenConsumer(events.StreamDead, listener, nil)
	for deadline := b.opts.Now().Add(wait); ; {
		notice, err := b.listen(ctx, heard, deadline.Sub(b.opts.Now()))
		if err != nil {
			return nil, fmt.Errorf("listen to dead letters as %s: %w", listener, err)
		}
		deadLetter, again, err := b.deadLetter(ctx, notice.message, map[about]bool{})
		if err != nil {
			return nil, fmt.Errorf("read dead letter %d: %w", notice.message.Sequence, b.explain(ctx, err))
		}
		if !again {
			return &deadLetterDelivery{delivery: notice, deadLetter: deadLetter}, nil
		}
		if err := notice.Ack(ctx); err != nil {
			return nil, err
		}
	}
}

func (b *deadLetterDelivery) DeadLetter() events.DeadLetter { return b.deadLetter }

// listen is follow, for a consumer whose filters may have changed since it was created.
func (b *Bus) listen(ctx context.Context, d ConsumerDefinition, wait time.Duration) (*delivery, error) {
	if err := b.consumers.refilter(ctx, d); err != nil {
		return nil, b.explain(ctx, err)
	}
	return b.follow(ctx, d, wait)
}

// refilter sets the requested filters on an existing consumer. Its position in the stream stays.
func (c *consumers) refilter(ctx context.Context, d ConsumerDefinition) error {
	consumer, err := c.open(ctx, d)
	if err != nil {
		return err
	}
	config := consumer.CachedInfo().Config
	// Like the dispatcher's, whose events it would take.
	if config.MaxAckPending != 1 || config.DeliverPolicy != jetstream.DeliverNewPolicy {
		c.forget(d)
		return fmt.Errorf("consumer %s of %s does not belong to a listener: %w; choose another name", d.Name, d.Stream, events.ErrConflict)
	}
	if slices.Equal(filtersOf(config), filtersOf(d.config(c.lease))) {
		return nil
	}
	ctx, cancel := context.WithTimeoutCause(ctx, answerTime, errNoAnswer)
	defer cancel()
	if _, err = c.js.UpdateConsumer(ctx, d.Stream, d.config(c.lease)); err != nil {
		return fmt.Errorf("change filters of consumer %s of %s: %w", d.Name, d.Stream, err)
	}
	c.forget(d)
	return nil
}

// filtersOf returns a consumer's filters in a fixed order.
func filtersOf(config jetstream.ConsumerConfig) []string {
	filters := slices.Clone(config.FilterSubjects)
	if config.FilterSubject != "" {
		filters = append(filters, config.FilterSubject)
	}
	slices.Sort(filters)
	return filters
}
