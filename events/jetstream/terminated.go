package jetstream

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/nats-io/nats.go/jetstream"

	"github.com/stoker-ml/stoker/events"
)

// terminated is the server's advisory of a message that a client terminated, by the NATS schema
// io.nats.jetstream.advisory.v1.terminated. Stoker acknowledges the messages that it has
// dead-lettered, so no advisory is about them: each is about a message that a foreign client
// terminated, which would be gone without a trace. DEAD keeps them, as defined in streams.yaml.
type terminated struct {
	Stream   string `json:"stream"`
	Consumer string `json:"consumer"`
	Sequence uint64 `json:"stream_seq"`
	Reason   string `json:"reason"`
}

const terminatedSubject = "$JS.EVENT.ADVISORY.CONSUMER.MSG_TERMINATED."

// advisory reads the advisory in a message of DEAD; ok is false if it is none.
func advisory(message events.Message) (a terminated, ok bool) {
	if !strings.HasPrefix(message.Subject, terminatedSubject) {
		return a, false
	}
	err := json.Unmarshal(message.Body, &a)
	return a, err == nil && a.Stream != "" && a.Sequence != 0
}

// own reports whether the server ended the message's delivery by itself, because the stream no
// longer had the message. That happens when a server was killed between the two parts of an
// acknowledgement, and when a message is deleted: the message was gone before.
func (a terminated) own() bool {
	return a.Reason == "Unacknowledged message was deleted" || a.Reason == "Message deleted by stream limits"
}

// about is the message that a dead letter or an advisory refers to: a sequence in a stream. After
// the stream is removed and created again, sequences repeat, so about also says whether the message
// was in the former stream.
type about struct {
	prefix string // of the subjects of its dead letters
	former bool   // it was in a removed stream of that name
}

// about finds the message of that sequence that a stream had at a time: when the message was
// stored, or when an advisory named it.
func (b *Bus) about(ctx context.Context, name string, sequence uint64, at time.Time) (about, error) {
	found := about{prefix: events.DeadPrefix(name, sequence)}
	stream, err := b.js.Stream(ctx, name)
	if errors.Is(err, jetstream.ErrStreamNotFound) {
		found.former = true
		return found, nil
	}
	if err != nil {
		return found, fmt.Errorf("read the state of stream %s: %w", name, b.explain(ctx, err))
	}
	found.former = at.Before(stream.CachedInfo().Created)
	return found, nil
}

// letter returns the dead letter of an advisory, with the message if its stream still has it. A job
// is gone with its body.
func (b *Bus) letter(ctx context.Context, a terminated, former bool) (events.DeadLetter, error) {
	reason := fmt.Sprintf("terminated on consumer %s by a client other than Stoker: %s", a.Consumer, orNone(a.Reason))
	message, err := events.Message{}, events.ErrNotFound
	if !former {
		message, err = b.stored(ctx, a.Stream, a.Sequence)
	}
	if errors.Is(err, events.ErrNotFound) {
		message = events.Message{Stream: a.Stream, Sequence: a.Sequence}
		reason += "; the message is no longer stored"
		err = nil
	}
	return events.DeadLetter{Message: message, Reason: events.DeadReason{Kind: events.FailureInput, Message: reason}}, err
}

func orNone(reason string) string {
	if reason == "" {
		return "no reason given"
	}
	return reason
}

// stored reads a message that a stream still has.
func (b *Bus) stored(ctx context.Context, name string, sequence uint64) (events.Message, error) {
	stream, err := b.js.Stream(ctx, name)
	if errors.Is(err, jetstream.ErrStreamNotFound) {
		err = jetstream.ErrMsgNotFound
	}
	var raw *jetstream.RawStreamMsg
	if err == nil {
		raw, err = stream.GetMsg(ctx, sequence)
	}
	if err != nil {
		return events.Message{}, fmt.Errorf("read message %d of %s: %w", sequence, name, b.explain(ctx, err))
	}
	return messageOf(name, raw), nil
}

func messageOf(stream string, raw *jetstream.RawStreamMsg) events.Message {
	return events.Message{
		Stream: stream, Sequence: raw.Sequence, Subject: raw.Subject, Stored: raw.Time.UTC(), Header: raw.Header, Body: raw.Data,
	}
}
