package jetstream

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"github.com/stoker-ml/stoker/events"
)

// Read implements events.EventLog. Without Follow it ends at the newest event at that time; with
// Follow it ends when ctx does.
func (b *Bus) Read(ctx context.Context, q events.Query) iter.Seq2[events.Recorded, error] {
	return func(yield func(events.Recorded, error) bool) {
		scan := scan{bus: b, stream: events.StreamEvents, filters: events.EventFilters(q), next: max(q.From, 1), until: q.Until, follow: q.Follow}
		scan.complete, scan.few = !q.Follow, !q.Follow && (q.Run != "" || q.Until != 0 && q.Until <= scan.next+fewMessages)
		for message, err := range scan.messages(ctx) {
			if err != nil {
				yield(events.Recorded{}, fmt.Errorf("read events: %w", b.explain(ctx, err)))
				return
			}
			if !yield(record(message), nil) {
				return
			}
		}
	}
}

// scan reads a stream in order, through a short-lived consumer. If messages got lost in transit, it
// resumes at its position.
//
// A consumer reads the copy of the server that it was placed on. A complete scan asks the leader
// for the missing messages at its end, and one that expects few messages asks the leader for them
// from the start: one request per message, where a consumer takes three in total.
type scan struct {
	bus     *Bus
	stream  string
	filters []string
	// Only the newest of each subject: one that is written meanwhile may be repeated.
	newest   bool
	next     uint64 // sequence
	until    uint64 // exclusive; 0 for none
	follow   bool
	complete bool // ends only when the leader has no more
	few      bool

	consumer  jetstream.Consumer
	delivered uint64 // by consumer
	pending   uint64 // after the last one delivered

	pause       events.Pause // while our server does not know consumer yet
	silentSince time.Time    // since when; zero: it does
}

func (s *scan) messages(ctx context.Context) iter.Seq2[events.Message, error] {
	return func(yield func(events.Message, error) bool) {
		defer s.close()
		bounded, done := s.bus.untilClosed(ctx)
		defer done()
		step := s.batch
		if s.few {
			step = s.ask
		}
		for !s.passed() {
			state, err := step(bounded, yield)
			if err != nil && !(s.follow && ctx.Err() != nil) {
				yield(events.Message{}, err)
				return
			}
			switch {
			case err != nil || state == scanOver:
				return
			case state == scanMore:
				step = s.batch
			case s.complete:
				step = s.ask
			default:
				return
			}
		}
	}
}

// scanState is how a scan continues after a step.
type scanState int

const (
	scanMore scanState = iota // there is more than the step has yielded
	scanRead                  // the copy holds no more
	scanOver                  // the leader holds no more, or the reader wants no more
)

// fewMessages is up to how many messages are requested one by one.
const fewMessages = 16

// ask yields the first few messages that the leader has from s.next on.
func (s *scan) ask(ctx context.Context, yield func(events.Message, error) bool) (scanState, error) {
	for range fewMessages {
		message, err := s.bus.leaderNext(ctx, s.stream, s.filters, s.next)
		switch {
		case errors.Is(err, events.ErrNotFound):
			return scanOver, nil
		case err != nil:
			return scanOver, err
		case s.until != 0 && message.Sequence >= s.until:
			return scanOver, nil
		}
		s.next = message.Sequence + 1
		s.close() // the consumer, if there is one, is behind
		if !yield(message, nil) {
			return scanOver, nil
		}
	}
	return scanMore, nil
}

// passed reports whether no message below until can follow.
func (s *scan) passed() bool { return s.until != 0 && s.next >= s.until }

const (
	batchSize  = 256
	followWait = 5 * time.Second  // of one pull when all is read
	scanKept   = 30 * time.Second // how long the server keeps a consumer without a reader
	// nats.go's own wait without a deadline: an answer may be lost with its server
	answerTime = 5 * time.Second
)

var errNoAnswer = fmt.Errorf("%w within %s", events.ErrUnavailable, answerTime)

// batch yields the messages of one pull.
func (s *scan) batch(ctx context.Context, yield func(events.Message, error) bool) (scanState, error) {
	if err := s.open(ctx); err != nil {
		return scanOver, err
	}
	if s.pending == 0 && !s.follow {
		return scanRead, nil
	}
	wanted := int(min(max(s.pending, 1), batchSize))
	batch, err := s.consumer.Fetch(wanted, jetstream.FetchMaxWait(followWait))
	if err != nil {
		return scanOver, err
	}
	for got := 0; ; got++ {
		select {
		case <-ctx.Done():
			return scanOver, context.Cause(ctx)
		case msg := <-batch.Messages():
			if msg == nil {
				return scanMore, s.ended(ctx, batch.Error(), got < wanted)
			}
			message, ok, err := s.accept(msg)
			if err != nil || !ok {
				return scanMore, err
			}
			if s.until != 0 && message.Sequence >= s.until || !yield(message, nil) {
				return scanOver, nil
			}
		}
	}
}

// accept checks that nothing was lost before msg; if so, ok is false and the scan resumes there.
func (s *scan) accept(msg jetstream.Msg) (message events.Message, ok bool, err error) {
	meta, err := msg.Metadata()
	if err != nil {
		return events.Message{}, false, err
	}
	if meta.Sequence.Consumer != s.delivered+1 {
		s.close()
		return events.Message{}, false, nil
	}
	s.delivered++
	s.pending = meta.NumPending
	s.next = meta.Sequence.Stream + 1
	message, err = received(msg)
	return message, true, err
}

// ended handles the end of a pull. If the consumer is gone, or has fewer messages than were
// pending, the scan starts again: messages may have been lost in transit, or removed from the
// stream.
func (s *scan) ended(ctx context.Context, err error, short bool) error {
	if errors.Is(err, nats.ErrNoResponders) {
		return s.awaitConsumer(ctx, err)
	}
	s.silentSince, s.pause = time.Time{}, events.Pause{}
	gone := errors.Is(err, jetstream.ErrConsumerDeleted) || errors.Is(err, jetstream.ErrNoHeartbeat)
	if err != nil && !gone {
		return err
	}
	if gone || short && s.pending > 0 {
		s.close()
	}
	return ctx.Err()
}

// awaitConsumer pauses after an unanswered pull: in a cluster, our server learns a moment later of
// a consumer that was placed on another one.
func (s *scan) awaitConsumer(ctx context.Context, err error) error {
	now := s.bus.opts.Now()
	if s.silentSince.IsZero() {
		s.silentSince = now
	}
	if now.Sub(s.silentSince) > answerTime {
		return err
	}
	return s.pause.Wait(ctx)
}

func (s *scan) open(ctx context.Context) error {
	if s.consumer != nil {
		return nil
	}
	// The reader's own may be a day.
	ctx, cancel := context.WithTimeoutCause(ctx, answerTime, errNoAnswer)
	defer cancel()
	config := jetstream.ConsumerConfig{
		FilterSubjects:    s.filters,
		DeliverPolicy:     jetstream.DeliverByStartSequencePolicy,
		OptStartSeq:       s.next,
		AckPolicy:         jetstream.AckNonePolicy,
		InactiveThreshold: scanKept,
		MemoryStorage:     true,
		Replicas:          1,
	}
	if s.newest {
		config.DeliverPolicy, config.OptStartSeq = jetstream.DeliverLastPerSubjectPolicy, 0
	}
	consumer, err := s.bus.js.CreateConsumer(ctx, s.stream, config)
	if err != nil {
		return s.bus.explain(ctx, err)
	}
	s.consumer, s.delivered, s.pending = consumer, 0, consumer.CachedInfo().NumPending
	return nil
}

// close deletes the consumer, which the server would keep for a while.
func (s *scan) close() {
	if s.consumer == nil {
		return
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(s.bus.closing), time.Second)
	defer cancel()
	if err := s.bus.js.DeleteConsumer(ctx, s.stream, s.consumer.CachedInfo().Name); err != nil {
		s.bus.log.Debug("consumer not removed; the server will", "stream", s.stream, "error", err)
	}
	s.consumer = nil
}
