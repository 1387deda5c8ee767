package jetstream

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"iter"
	"time"

	"github.com/nats-io/nats.go"

	"github.com/stoker-ml/stoker/events"
)

// DeadLetter implements events.Bus.
func (b *Bus) DeadLetter(ctx context.Context, d events.DeadLetter) error {
	subject := events.DeadSubject(d.Message)
	body, err := d.Encode(int(b.nc.MaxPayload()) - maxHeader)
	if err != nil {
		return fmt.Errorf("encode %s: %w", subject, err)
	}
	msg := &nats.Msg{Subject: subject, Header: nats.Header{"Content-Type": {"application/json"}}, Data: body}
	if _, err := b.once(ctx, events.StreamDead, msg); err != nil && !errors.Is(err, events.ErrConflict) {
		return fmt.Errorf("dead-letter %s: %w", subject, err)
	}
	return nil
}

// maxHeader is the part of the server's payload limit for the headers of a dead letter: subject and
// content type.
const maxHeader = 512

// DeadLetters implements events.Bus.
func (b *Bus) DeadLetters(ctx context.Context) iter.Seq2[events.DeadLetter, error] {
	return func(yield func(events.DeadLetter, error) bool) {
		// One dead letter for each message, however often others terminated it.
		shown := map[about]bool{}
		scan := scan{bus: b, stream: events.StreamDead, next: 1}
		for message, err := range scan.messages(ctx) {
			var deadLetter events.DeadLetter
			again := true
			if err == nil {
				deadLetter, again, err = b.deadLetter(ctx, message, shown)
			}
			if err != nil {
				yield(events.DeadLetter{}, fmt.Errorf("read dead letters: %w", b.explain(ctx, err)))
				return
			}
			if !again && !yield(deadLetter, nil) {
				return
			}
		}
	}
}

// deadLetter reads a message of DEAD. again means that another dead letter is about the same
// message, and is skipped.
func (b *Bus) deadLetter(ctx context.Context, message events.Message, shown map[about]bool) (deadLetter events.DeadLetter, again bool, err error) {
	if a, ok := advisory(message); ok {
		deadLetter, again, err = b.foreign(ctx, a, message.Stored, shown)
	} else {
		deadLetter = written(message)
	}
	deadLetter.Sequence, deadLetter.Stored = message.Sequence, message.Stored
	return deadLetter, again, err
}

// foreign returns the dead letter of a message that another client terminated at a time, unless it
// was dead-lettered too, is in shown, or was terminated by the server itself.
func (b *Bus) foreign(ctx context.Context, a terminated, at time.Time, shown map[about]bool) (deadLetter events.DeadLetter, again bool, err error) {
	if a.own() {
		return deadLetter, true, nil
	}
	about, err := b.about(ctx, a.Stream, a.Sequence, at)
	if again = shown[about]; !again && err == nil {
		again, err = b.isDeadLetter(ctx, about)
	}
	if again || err != nil {
		return deadLetter, again, err
	}
	shown[about] = true
	deadLetter, err = b.letter(ctx, a, about.former)
	return deadLetter, false, err
}

// isDeadLetter reports whether there is a dead letter of a message. There may be several for its
// sequence, of which one may be its own.
func (b *Bus) isDeadLetter(ctx context.Context, message about) (bool, error) {
	for next := uint64(1); ; {
		found, err := b.leaderMessage(ctx, events.StreamDead, messageRequest{Sequence: next, NextSubject: message.prefix + ".*"})
		if errors.Is(err, events.ErrNotFound) {
			return false, nil
		}
		var is about
		if err == nil {
			is, err = b.aboutOf(ctx, found)
		}
		if err != nil || is == message {
			return err == nil, err
		}
		next = found.Sequence + 1
	}
}

// aboutOf returns the message that a message of DEAD is about.
func (b *Bus) aboutOf(ctx context.Context, message events.Message) (about, error) {
	if a, ok := advisory(message); ok {
		return b.about(ctx, a.Stream, a.Sequence, message.Stored)
	}
	dead := written(message).Message
	return b.about(ctx, dead.Stream, dead.Sequence, dead.Stored)
}

// DeleteDeadLetter implements events.Bus. Other entries of DEAD about the same message are removed
// first, so that an interrupted call can be repeated.
func (b *Bus) DeleteDeadLetter(ctx context.Context, sequence uint64) error {
	err := b.drop(ctx, sequence)
	if err != nil {
		return fmt.Errorf("delete dead letter %d: %w", sequence, b.explain(ctx, err))
	}
	return nil
}

func (b *Bus) drop(ctx context.Context, sequence uint64) error {
	if sequence == 0 { // which is a bad request to NATS
		return events.ErrNotFound
	}
	message, err := b.stored(ctx, events.StreamDead, sequence)
	if err != nil {
		return err
	}
	about, err := b.aboutOf(ctx, message)
	if err != nil {
		return err
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

// remove removes a message from DEAD. It succeeds if it is gone already.
func (b *Bus) remove(ctx context.Context, sequence uint64) error {
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

// advisories returns the sequences in DEAD of advisories about a message.
func (b *Bus) advisories(ctx context.Context, message about) (at []uint64, err error) {
	scan := scan{bus: b, stream: events.StreamDead, filters: []string{terminatedSubject + ">"}, next: 1}
	for msg, err := range scan.messages(ctx) {
		if err != nil {
			return nil, err
		}
		a, ok := advisory(msg)
		if !ok || events.DeadPrefix(a.Stream, a.Sequence) != message.prefix {
			continue
		}
		is, err := b.aboutOf(ctx, msg)
		if err != nil {
			return nil, err
		}
		if is == message {
			at = append(at, msg.Sequence)
		}
	}
	return at, nil
}

// written reads a message of DeadLetter. A foreign message is returned verbatim.
func written(message events.Message) events.DeadLetter {
	var deadLetter events.DeadLetter
	err := json.Unmarshal(message.Body, &deadLetter)
	if err == nil && (deadLetter.Message.Stream == "" || deadLetter.Message.Sequence == 0) {
		err = errors.New("it names no message")
	}
	if err != nil {
		deadLetter = events.DeadLetter{Message: message, Reason: events.DeadReason{Kind: events.FailureInput, Message: "not a dead letter: " + err.Error()}}
	}
	return deadLetter
}
