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

// A consumer that was deleted, or that a restored backup lacks, would begin at the oldest event
// when it is created again, and deliver the whole log before anything new. So the position of the
// dispatcher's consumer is kept in the KV bucket of gates: everything up to it has been
// acknowledged. It is written from time to time, and may be old; events after it are redelivered,
// which is harmless.

const (
	// Before the consumer's name; internal keys that begin with a slash are no entries of the KV
	// bucket.
	placeKey   = "/place/"
	placeEvery = 30 * time.Second
	placeAcks  = 1000 // acknowledgements, if that is sooner
)

// place is the stored position of a consumer. A stream that was removed and created again restarts
// at sequence 1: the position is only valid in the stream that has the same message there.
type place struct {
	Sequence uint64    `json:"sequence"` // every message of the stream up to here is acknowledged
	Stored   time.Time `json:"stored"`   // when that message was stored, to the nanosecond
}

// places decides when the position of a consumer is written. It is safe for concurrent use.
type places struct {
	mu   sync.Mutex
	acks int
	last time.Time
}

// due counts an acknowledgement.
func (p *places) due(now time.Time) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.acks++
	if p.acks < placeAcks && now.Sub(p.last) < placeEvery {
		return false
	}
	p.acks, p.last = 0, now
	return true
}

// hasPlace reports whether the position of a consumer is stored: that of readers of all events.
func (d ConsumerDefinition) hasPlace() bool { return d.Stream == events.StreamEvents && !d.listens }

// remember writes the position of a consumer from time to time. A failure is no error for the
// caller.
func (b *Bus) remember(ctx context.Context, d ConsumerDefinition) {
	if !d.hasPlace() || !b.places.due(b.opts.Now()) {
		return
	}
	if err := b.writePlace(ctx, d); err != nil {
		b.log.Debug("position of a consumer not saved", "consumer", d.Name, "error", err)
	}
}

func (b *Bus) writePlace(ctx context.Context, d ConsumerDefinition) error {
	ctx, cancel := context.WithTimeoutCause(ctx, answerTime, errNoAnswer)
	defer cancel()
	consumer, err := b.consumers.open(ctx, d)
	if err != nil {
		return err
	}
	info, err := consumer.Info(ctx)
	if err != nil {
		return fmt.Errorf("ask consumer %s of %s: %w", d.Name, d.Stream, b.explain(ctx, err))
	}
	if info.AckFloor.Stream == 0 {
		return nil
	}
	message, err := b.leaderMessage(ctx, d.Stream, messageRequest{Sequence: info.AckFloor.Stream})
	if err != nil {
		return fmt.Errorf("read message %d of %s: %w", info.AckFloor.Stream, d.Stream, err)
	}
	value, err := json.Marshal(place{Sequence: message.Sequence, Stored: message.Stored})
	if err != nil {
		return err
	}
	subject := "$KV." + events.KVGates + "." + placeKey + d.Name
	ctx, done := b.refusals.expect(ctx, subject)
	defer done()
	msg := &nats.Msg{Subject: subject, Header: nats.Header{jetstream.MsgRollup: {jetstream.MsgRollupSubject}}, Data: value}
	if _, err := b.js.PublishMsg(ctx, msg); err != nil {
		return fmt.Errorf("write the position of consumer %s of %s: %w", d.Name, d.Stream, b.explain(ctx, err))
	}
	return nil
}

// makeConsumer creates or updates a durable consumer. An existing one keeps its position; a new one
// begins at the stored position, if that is known.
func makeConsumer(ctx context.Context, js jetstream.JetStream, d ConsumerDefinition, lease time.Duration) (jetstream.Consumer, error) {
	config := d.config(lease)
	found, err := js.Consumer(ctx, d.Stream, d.Name)
	switch {
	case err == nil:
		is := found.CachedInfo().Config
		config.DeliverPolicy, config.OptStartSeq, config.OptStartTime = is.DeliverPolicy, is.OptStartSeq, is.OptStartTime
	case !errors.Is(err, jetstream.ErrConsumerNotFound):
		return nil, err
	case d.hasPlace():
		if at := placeOf(ctx, js, d); at > 0 {
			config.DeliverPolicy, config.OptStartSeq = jetstream.DeliverByStartSequencePolicy, at+1
		}
	}
	return js.CreateOrUpdateConsumer(ctx, d.Stream, config)
}

// placeOf returns the stored position of a consumer; 0 for the beginning, also if the stream has
// another message there, or none.
func placeOf(ctx context.Context, js jetstream.JetStream, d ConsumerDefinition) uint64 {
	gates, err := js.KeyValue(ctx, events.KVGates)
	if err != nil {
		return 0
	}
	entry, err := gates.Get(ctx, placeKey+d.Name)
	if err != nil {
		return 0
	}
	var kept place
	if err := json.Unmarshal(entry.Value(), &kept); err != nil || kept.Sequence == 0 {
		return 0
	}
	stream, err := js.Stream(ctx, d.Stream)
	if err != nil {
		return 0
	}
	message, err := stream.GetMsg(ctx, kept.Sequence)
	if err != nil || !message.Time.Equal(kept.Stored) {
		return 0
	}
	return kept.Sequence
}
