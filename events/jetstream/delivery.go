package jetstream

import (
	"context"
	"fmt"
	"math"
	"time"

	"github.com/nats-io/nats.go/jetstream"

	"github.com/stoker-ml/stoker/events"
)

// notice is one message handed to one reader.
type notice struct {
	box     *Letterbox
	msg     jetstream.Msg
	message events.Message
	times   int
	of      ConsumerDefinition
}

// delivery is a notice of the log.
type delivery struct {
	*notice
	recorded events.Recorded
}

var (
	_ events.Notice   = (*notice)(nil)
	_ events.Delivery = (*delivery)(nil)
)

// Follow implements events.Log.
func (b *Letterbox) Follow(ctx context.Context, reader string, wait time.Duration) (events.Delivery, error) {
	notice, err := b.follow(ctx, factConsumer(reader), wait)
	if err != nil {
		return nil, fmt.Errorf("follow facts as %s: %w", reader, err)
	}
	return &delivery{notice: notice, recorded: record(notice.message)}, nil
}

// Delivered implements events.Log.
func (b *Letterbox) Delivered(ctx context.Context, reader string) (uint64, error) {
	ctx, cancel := context.WithTimeoutCause(ctx, answerTime, errNoAnswer)
	defer cancel()
	info, err := b.consumerInfo(ctx, factConsumer(reader))
	if err != nil {
		return 0, fmt.Errorf("look how far %s has come: %w", reader, err)
	}
	return info.Delivered.Stream, nil
}

// FollowBuckets implements events.Notices.
func (b *Letterbox) FollowBuckets(ctx context.Context, reader string, wait time.Duration) (events.Notice, error) {
	notice, err := b.follow(ctx, bucketConsumer(reader), wait)
	if err != nil {
		return nil, fmt.Errorf("follow buckets as %s: %w", reader, err)
	}
	return notice, nil
}

func (b *Letterbox) follow(ctx context.Context, d ConsumerDefinition, wait time.Duration) (*notice, error) {
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
	return &notice{box: b, msg: msg, message: message, times: int(min(meta.NumDelivered, math.MaxInt32)), of: d}, nil
}

func (d *delivery) Recorded() events.Recorded { return d.recorded }

func (n *notice) Message() events.Message { return n.message }

// Deliveries implements events.Notice.
func (n *notice) Deliveries() int { return n.times }

// Done implements events.Notice.
func (n *notice) Done(ctx context.Context) error {
	ctx, done := n.box.refusals.expect(ctx, n.msg.Reply())
	defer done()
	if err := n.msg.DoubleAck(ctx); err != nil {
		return n.failed(ctx, "acknowledge", err)
	}
	n.box.remember(ctx, n.of)
	return nil
}

// Later implements events.Notice.
func (n *notice) Later(ctx context.Context, delay time.Duration) error {
	if err := later(n.msg, delay); err != nil {
		return n.failed(ctx, "hand back", err)
	}
	return n.box.flush(ctx)
}

// Never implements events.Notice. What is buried is acknowledged: see Never of claim.
func (n *notice) Never(ctx context.Context, reason events.DeadReason) error {
	if err := n.box.Bury(ctx, events.DeadLetter{Message: n.message, Reason: reason}); err != nil {
		return err
	}
	return n.Done(ctx)
}

func (n *notice) failed(ctx context.Context, doing string, err error) error {
	return fmt.Errorf("%s message %d of %s: %w", doing, n.message.Sequence, n.message.Stream, n.box.explain(ctx, err))
}

// received turns a delivered message into what events calls one.
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

// record reads the fact in a message. A fact that stands under a subject of another is no valid one.
func record(message events.Message) events.Recorded {
	fact, err := events.Decode(message.Header, message.Body)
	if err == nil {
		err = events.CheckFactSubject(fact, message.Subject)
	}
	if err != nil {
		return events.Recorded{Message: message, Err: err}
	}
	return events.Recorded{Message: message, Fact: fact}
}

// later hands a message back, to be delivered after delay.
func later(msg jetstream.Msg, delay time.Duration) error {
	if delay <= 0 {
		return msg.Nak()
	}
	return msg.NakWithDelay(delay)
}

// flush returns when the server has read all that was sent to it so far.
func (b *Letterbox) flush(ctx context.Context) error {
	if _, ok := ctx.Deadline(); !ok { // nats.go insists on one
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeout(ctx, b.terms.Length)
		defer cancel()
	}
	if err := b.nc.FlushWithContext(ctx); err != nil {
		return fmt.Errorf("flush: %w", b.explain(ctx, err))
	}
	return nil
}
