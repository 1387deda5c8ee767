package jetstream

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"iter"
	"strings"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"github.com/stoker-ml/stoker/events"
)

// Bury implements events.Letterbox.
func (b *Letterbox) Bury(ctx context.Context, d events.DeadLetter) error {
	subject := events.DeadSubject(d.Message.Stream, d.Message.Sequence)
	body, err := d.Encode(int(b.nc.MaxPayload()) - maxHeader)
	if err != nil {
		return fmt.Errorf("encode %s: %w", subject, err)
	}
	msg := &nats.Msg{Subject: subject, Header: nats.Header{"Content-Type": {"application/json"}}, Data: body}
	if _, err := b.once(ctx, msg); err != nil && !errors.Is(err, events.ErrConflict) {
		return fmt.Errorf("bury %s: %w", subject, err)
	}
	return nil
}

// maxHeader is what the headers of a dead letter take of the payload that the server allows: subject and type of content.
const maxHeader = 512

// Dead implements events.Letterbox.
func (b *Letterbox) Dead(ctx context.Context) iter.Seq2[events.DeadLetter, error] {
	return func(yield func(events.DeadLetter, error) bool) {
		scan := scan{box: b, stream: streamDead, filters: []string{"dead.>"}, next: 1}
		for message, err := range scan.messages(ctx) {
			if err != nil {
				yield(events.DeadLetter{}, fmt.Errorf("read dead letters: %w", b.explain(ctx, err)))
				return
			}
			if !yield(deadLetter(message), nil) {
				return
			}
		}
	}
}

// Drop implements events.Letterbox.
func (b *Letterbox) Drop(ctx context.Context, sequence uint64) error {
	stream, err := b.js.Stream(ctx, streamDead)
	if err == nil {
		err = stream.DeleteMsg(ctx, sequence)
	}
	if errors.Is(err, jetstream.ErrMsgNotFound) {
		err = events.ErrNotFound
	}
	if err != nil {
		return fmt.Errorf("drop dead letter %d: %w", sequence, b.explain(ctx, err))
	}
	return nil
}

// deadLetter reads what Bury wrote. What someone else put there is shown for what it is.
func deadLetter(message events.Message) events.DeadLetter {
	var letter events.DeadLetter
	if err := json.Unmarshal(message.Body, &letter); err != nil {
		letter = events.DeadLetter{Message: message, Reason: events.DeadReason{Kind: events.FailureInput, Message: "not a dead letter: " + err.Error()}}
	}
	letter.Sequence, letter.Buried = message.Sequence, message.Stored
	return letter
}

const maxReason = 200 // bytes of a reason in the server's advisory; DEAD has the whole

// oneLine is what can stand in the line that takes a message off its queue.
func oneLine(reason string) string {
	line := strings.Join(strings.Fields(reason), " ")
	if len(line) > maxReason {
		line = strings.ToValidUTF8(line[:maxReason], "") + "..."
	}
	return line
}
