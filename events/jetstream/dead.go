package jetstream

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"iter"

	"github.com/nats-io/nats.go"

	"github.com/stoker-ml/stoker/events"
)

// Bury implements events.Letterbox.
func (b *Letterbox) Bury(ctx context.Context, d events.DeadLetter) error {
	subject := events.DeadSubject(d.Message)
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
		shown := map[string]bool{} // by DeadPrefix: one letter for each message, however often others ended it
		scan := scan{box: b, stream: events.StreamDead, next: 1}
		for message, err := range scan.messages(ctx) {
			var letter events.DeadLetter
			again := true
			if err == nil {
				letter, again, err = b.deadLetter(ctx, message, shown)
			}
			if err != nil {
				yield(events.DeadLetter{}, fmt.Errorf("read dead letters: %w", b.explain(ctx, err)))
				return
			}
			if !again && !yield(letter, nil) {
				return
			}
		}
	}
}

// deadLetter reads what stands in DEAD. again says that another letter tells of the same message, so that there is no more to say.
func (b *Letterbox) deadLetter(ctx context.Context, message events.Message, shown map[string]bool) (letter events.DeadLetter, again bool, err error) {
	if a, ok := advisory(message); ok {
		letter, again, err = b.foreign(ctx, a, shown)
	} else {
		letter = written(message)
	}
	letter.Sequence, letter.Buried = message.Sequence, message.Stored
	return letter, again, err
}

// foreign is the letter of a message that someone else ended, unless it was buried besides, is among shown, or was ended by the
// server itself.
func (b *Letterbox) foreign(ctx context.Context, a terminated, shown map[string]bool) (letter events.DeadLetter, again bool, err error) {
	if again = a.own() || shown[a.about()]; !again {
		again, err = b.isBuried(ctx, a.about())
	}
	if again || err != nil {
		return letter, again, err
	}
	shown[a.about()] = true
	letter, err = b.letter(ctx, a)
	return letter, false, err
}

// isBuried says whether there is a letter about a place in a stream.
func (b *Letterbox) isBuried(ctx context.Context, about string) (bool, error) {
	_, err := b.leaderMessage(ctx, events.StreamDead, messageRequest{LastSubject: about + ".*"})
	if errors.Is(err, events.ErrNotFound) {
		return false, nil
	}
	return err == nil, err
}

// Drop implements events.Letterbox. What else DEAD holds about the same message goes first: a drop that is cut off can be repeated.
func (b *Letterbox) Drop(ctx context.Context, sequence uint64) error {
	err := b.drop(ctx, sequence)
	if err != nil {
		return fmt.Errorf("drop dead letter %d: %w", sequence, b.explain(ctx, err))
	}
	return nil
}

func (b *Letterbox) drop(ctx context.Context, sequence uint64) error {
	if sequence == 0 { // which NATS takes for a bad request
		return events.ErrNotFound
	}
	message, err := b.stored(ctx, events.StreamDead, sequence)
	if err != nil {
		return err
	}
	letter := written(message).Message
	about := events.DeadPrefix(letter.Stream, letter.Sequence)
	if a, ok := advisory(message); ok {
		about = a.about()
	}
	advisories, err := b.advisories(ctx, about)
	if err != nil {
		return err
	}
	for _, at := range append(advisories, sequence) {
		if err := b.remove(ctx, at); err != nil {
			return err
		}
	}
	return nil
}

// remove takes a message out of DEAD. That it is gone already is success.
func (b *Letterbox) remove(ctx context.Context, sequence uint64) error {
	stream, err := b.js.Stream(ctx, events.StreamDead)
	if err != nil {
		return err
	}
	err = stream.DeleteMsg(ctx, sequence)
	if err == nil {
		return nil
	}
	if _, gone := b.stored(ctx, events.StreamDead, sequence); errors.Is(gone, events.ErrNotFound) {
		return nil
	}
	return err
}

// advisories are the places in DEAD of what others did with a message, which is named by the subject of its letter.
func (b *Letterbox) advisories(ctx context.Context, about string) (at []uint64, err error) {
	scan := scan{box: b, stream: events.StreamDead, filters: []string{terminatedSubject + ">"}, next: 1}
	for message, err := range scan.messages(ctx) {
		if err != nil {
			return nil, err
		}
		if a, ok := advisory(message); ok && a.about() == about {
			at = append(at, message.Sequence)
		}
	}
	return at, nil
}

// written reads what Bury wrote. What someone else put there is shown for what it is.
func written(message events.Message) events.DeadLetter {
	var letter events.DeadLetter
	if err := json.Unmarshal(message.Body, &letter); err != nil {
		letter = events.DeadLetter{Message: message, Reason: events.DeadReason{Kind: events.FailureInput, Message: "not a dead letter: " + err.Error()}}
	}
	return letter
}
