package jetstream

import (
	"context"
	"fmt"
	"math"
	"time"

	"github.com/nats-io/nats.go/jetstream"

	"github.com/stoker-ml/stoker/events"
)

// delivery is one message delivered to one reader.
type delivery struct {
	bus     *Bus
	msg     jetstream.Msg
	message events.Message
	times   int
	of      ConsumerDefinition
}

// eventDelivery is a delivery of the log.
type eventDelivery struct {
	*delivery
	recorded events.Recorded
}

var (
	_ events.Delivery      = (*delivery)(nil)
	_ events.EventDelivery = (*eventDelivery)(nil)
)

// Follow implements events.EventLog.
func (b *Bus) Follow(ctx context.Context, reader string, wait time.Duration) (events.EventDelivery, error) {
	notice, err := b.follow(ctx, eventConsumer(reader), wait)
	if err != nil {
		return nil, fmt.Errorf("follow events as %s: %w", reader, err)
	}
	return &eventDelivery{delivery: notice, recorded: record(notice.message)}, nil
}

// Delivered implements events.EventLog.
func (b *Bus) Delivered(ctx context.Context, reader string) (uint64, error) {
	ctx, cancel := context.WithTimeoutCause(ctx, answerTime, errNoAnswer)
	defer cancel()
	info, err := b.consumerInfo(ctx, eventConsumer(reader))
	if err != nil {
		return 0, fmt.Errorf("read the position of %s: %w", reader, err)
	}
	return info.Delivered.Stream, nil
}

// FollowBuckets implements events.BucketNotifications.
func (b *Bus) FollowBuckets(ctx context.Context, reader string, wait time.Duration) (events.Delivery, error) {
	notice, err := b.follow(ctx, bucketConsumer(reader), wait)
	if err != nil {
		return nil, fmt.Errorf("follow buckets as %s: %w", reader, err)
	}
	return notice, nil
}

func (b *Bus) follow(ctx context.Context, d ConsumerDefinition, wait time.Duration) (*delivery, error) {
	msg, err := b.next(ctx, d, wait)
	if err != nil {
		return nil, err
	}
	if msg == nil {
		return nil, events.ErrEmpty
	}
	message, err := received(msg)
	if err != nil {
		return nil, err
	}
	meta, err := msg.Metadata()
	if err != nil {
		return nil, err
	}
	return &delivery{bus: b, msg: msg, message: message, times: int(min(meta.NumDelivered, math.MaxInt32)), of: d}, nil
}

func (d *eventDelivery) Recorded() events.Recorded { return d.recorded }

func (n *delivery) Message() events.Message { return n.message }

// Deliveries implements events.Delivery.
func (n *delivery) Deliveries() int { return n.times }

// Ack implements events.Delivery.
func (n *delivery) Ack(ctx context.Context) error {
	ctx, done := n.bus.refusals.expect(ctx, n.msg.Reply())
	defer done()
	if err := n.msg.DoubleAck(ctx); err != nil {
		return n.failed(ctx, "acknowledge", err)
	}
	n.bus.remember(ctx, n.of)
	return nil
}

// Nak implements events.Delivery.
func (n *delivery) Nak(ctx context.Context, delay time.Duration) error {
	if err := later(n.msg, delay); err != nil {
		return n.failed(ctx, "hand back", err)
	}
	return n.bus.flush(ctx)
}

// Term implements events.Delivery. A dead-lettered message is acknowledged: see Term of claim.
func (n *delivery) Term(ctx context.Context, reason events.DeadReason) error {
	if err := n.bus.DeadLetter(ctx, events.DeadLetter{Message: n.message, Reason: reason}); err != nil {
		return err
	}
	return n.Ack(ctx)
}

func (n *delivery) failed(ctx context.Context, doing string, err error) error {
	return fmt.Errorf("%s message %d of %s: %w", doing, n.message.Sequence, n.message.Stream, n.bus.explain(ctx, err))
}

// received converts a delivered message to an events.Message.
func received(msg jetstream.Msg) (events.Message, error) {
	meta, err := msg.Metadata()
	if err != nil {
		return events.Message{}, fmt.Errorf("read delivery of %s: %w", msg.Subject(), err)
	}
	return events.Message{
		Stream:   meta.Stream,
		Sequence: meta.Sequence.Stream,
		Subject:  msg.Subject(),
		Stored:   meta.Timestamp.UTC(),
		Header:   msg.Headers(),
		Body:     msg.Data(),
	}, nil
}

// record reads the event in a message. An event on the subject of another one is invalid.
func record(message events.Message) events.Recorded {
	event, err := events.Decode(message.Header, message.Body)
	if err == nil {
		err = events.CheckEventSubject(event, message.Subject)
	}
	if err != nil {
		return events.Recorded{Message: message, Err: err}
	}
	return events.Recorded{Message: message, Event: event}
}

// later returns a message, to be redelivered after delay.
func later(msg jetstream.Msg, delay time.Duration) error {
	if delay <= 0 {
		return msg.Nak()
	}
	return msg.NakWithDelay(delay)
}

// flush returns when the server has read everything sent so far.
func (b *Bus) flush(ctx context.Context) error {
	if _, ok := ctx.Deadline(); !ok { // nats.go requires one
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeout(ctx, b.terms.Length)
		defer cancel()
	}
	if err := b.nc.FlushWithContext(ctx); err != nil {
		return fmt.Errorf("flush: %w", b.explain(ctx, err))
	}
	return nil
}
