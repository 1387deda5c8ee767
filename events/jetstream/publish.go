package jetstream

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"github.com/stoker-ml/stoker/events"
)

// Publish implements events.EventLog. The bus holds one message for each subject. No message has a
// Nats-Msg-Id: JetStream compares it within the whole stream, so that a publisher could make it
// drop the events of another one.
func (b *Bus) Publish(ctx context.Context, f events.Event) (events.Receipt, error) {
	header, body, err := events.Encode(f)
	if err != nil {
		return events.Receipt{}, err
	}
	msg := &nats.Msg{Subject: events.EventSubject(f), Header: header, Data: body}
	sequence, err := b.once(ctx, events.StreamEvents, msg)
	if errors.Is(err, events.ErrConflict) {
		return b.duplicate(ctx, f, msg.Subject)
	}
	if err != nil {
		return events.Receipt{}, fmt.Errorf("publish %s: %w", msg.Subject, err)
	}
	return events.Receipt{Sequence: sequence}, nil
}

// duplicate finds the event that was stored first.
func (b *Bus) duplicate(ctx context.Context, f events.Event, subject string) (events.Receipt, error) {
	msg, err := b.first(ctx, events.StreamEvents, subject)
	if err != nil {
		return events.Receipt{}, fmt.Errorf("look up %s: %w", subject, err)
	}
	if err := events.CheckRepeated(f, msg); err != nil {
		return events.Receipt{}, fmt.Errorf("publish %s: %w", subject, err)
	}
	return events.Receipt{Sequence: msg.Sequence, Duplicate: true}, nil
}

// first returns the message of a subject that has one. Not every publisher to a stream may ask its
// leader, because permissions can't restrict that to subjects: others ask any copy for their own
// messages.
func (b *Bus) first(ctx context.Context, stream, subject string) (events.Message, error) {
	found, err := b.leaderMessage(ctx, stream, messageRequest{LastSubject: subject})
	if !errors.Is(err, events.ErrRefused) {
		return found, err
	}
	copied, err := b.js.Stream(ctx, stream)
	if err != nil {
		return events.Message{}, b.explain(ctx, err)
	}
	raw, err := lastOf(ctx, copied, subject)
	if errors.Is(err, jetstream.ErrMsgNotFound) {
		err = fmt.Errorf("%w: %w", events.ErrNotFound, err)
	}
	if err != nil {
		return events.Message{}, b.explain(ctx, err)
	}
	return messageOf(stream, raw), nil
}

// copyLag is how long a server's copy of a stream may be behind the leader's before a message that
// must be there counts as lost.
const copyLag = 2 * time.Second

// lastOf returns the last message of a subject that has one: a server that answers from its own
// copy may not have it yet.
func lastOf(ctx context.Context, stream jetstream.Stream, subject string) (*jetstream.RawStreamMsg, error) {
	for until := time.Now().Add(copyLag); ; {
		msg, err := stream.GetLastMsgForSubject(ctx, subject)
		if !errors.Is(err, jetstream.ErrMsgNotFound) || time.Now().After(until) {
			return msg, err
		}
		select {
		case <-ctx.Done():
			return nil, context.Cause(ctx)
		case <-time.After(copyLag / 40):
		}
	}
}

// once appends msg to a stream unless its subject holds a message: then ErrConflict.
//
// A stream of several replicas also rejects a message while an equal one is being replicated, which
// is lost if its leader is. So a conflict only counts once the message is there, and until then msg
// is published again.
func (b *Bus) once(ctx context.Context, stream string, msg *nats.Msg) (sequence uint64, err error) {
	ctx, cancel := context.WithTimeoutCause(ctx, answerTime, errNoAnswer)
	defer cancel()
	for pause := (events.Pause{}); ; {
		sequence, err = b.behind(ctx, msg, 0)
		if !errors.Is(err, events.ErrConflict) {
			return sequence, err
		}
		_, missing := b.first(ctx, stream, msg.Subject)
		switch {
		case missing == nil || errors.Is(missing, events.ErrRefused):
			return 0, err
		case !errors.Is(missing, events.ErrNotFound):
			return 0, missing
		}
		if err := pause.Wait(ctx); err != nil {
			return 0, b.explain(ctx, err)
		}
	}
}

// behind appends msg unless the last message of its subject has another sequence than after, which
// is 0 for none: then ErrConflict. An answer may be lost with its server: that is reported soon,
// whatever the caller's deadline, so that it can retry.
func (b *Bus) behind(ctx context.Context, msg *nats.Msg, after uint64) (sequence uint64, err error) {
	ctx, cancel := context.WithTimeoutCause(ctx, answerTime, errNoAnswer)
	defer cancel()
	ctx, done := b.refusals.expect(ctx, msg.Subject)
	defer done()
	ack, err := b.js.PublishMsg(ctx, msg, jetstream.WithExpectLastSequencePerSubject(after))
	if err != nil {
		return 0, b.sized(b.explain(ctx, err), len(msg.Data))
	}
	return ack.Sequence, nil
}
