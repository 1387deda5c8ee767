package jetstream

import (
	"context"
	"fmt"
	"time"

	"github.com/nats-io/nats.go/jetstream"

	"github.com/stoker-ml/stoker/events"
)

// delivery is one fact handed to one reader.
type delivery struct {
	box      *Letterbox
	msg      jetstream.Msg
	recorded events.Recorded
}

var _ events.Delivery = (*delivery)(nil)

// Follow implements events.Log.
func (b *Letterbox) Follow(ctx context.Context, reader string, wait time.Duration) (events.Delivery, error) {
	msg, err := b.next(ctx, factConsumer(reader), wait)
	if err != nil {
		return nil, err
	}
	if msg == nil {
		return nil, fmt.Errorf("follow facts as %s: %w", reader, events.ErrEmpty)
	}
	message, err := received(msg)
	if err != nil {
		return nil, err
	}
	return &delivery{box: b, msg: msg, recorded: record(message)}, nil
}

func (d *delivery) Recorded() events.Recorded { return d.recorded }

// Done implements events.Delivery.
func (d *delivery) Done(ctx context.Context) error {
	if err := d.msg.DoubleAck(ctx); err != nil {
		return fmt.Errorf("acknowledge fact %d: %w", d.recorded.Message.Sequence, d.box.explain(ctx, err))
	}
	return nil
}

// Later implements events.Delivery.
func (d *delivery) Later(ctx context.Context, delay time.Duration) error {
	if err := later(d.msg, delay); err != nil {
		return fmt.Errorf("hand back fact %d: %w", d.recorded.Message.Sequence, d.box.explain(ctx, err))
	}
	return d.box.flush(ctx)
}

// Never implements events.Delivery.
func (d *delivery) Never(ctx context.Context, reason events.DeadReason) error {
	if err := d.box.Bury(ctx, events.DeadLetter{Message: d.recorded.Message, Reason: reason}); err != nil {
		return err
	}
	if err := d.msg.TermWithReason(oneLine(reason.Message)); err != nil {
		return fmt.Errorf("take fact %d off: %w", d.recorded.Message.Sequence, d.box.explain(ctx, err))
	}
	return d.box.flush(ctx)
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
