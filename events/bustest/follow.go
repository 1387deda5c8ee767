package bustest

import (
	"context"
	"fmt"
	"time"

	"github.com/stoker-ml/stoker/events"
)

// reader is one durable position in a stream from which nothing is removed.
type reader struct {
	next    uint64               // first message never delivered
	waiting map[uint64]time.Time // delivered but not settled: when it is redelivered
	times   map[uint64]int       // number of deliveries of each
	single  bool                 // a listener: nothing is delivered while one waits
}

// Follow implements events.EventLog.
func (m *Memory) Follow(ctx context.Context, name string, wait time.Duration) (events.EventDelivery, error) {
	notice, err := m.follow(ctx, &m.events, name, wait)
	if err != nil {
		return nil, fmt.Errorf("follow events as %s: %w", name, err)
	}
	return &eventDelivery{delivery: notice, recorded: record(notice.message)}, nil
}

// Delivered implements events.EventLog.
func (m *Memory) Delivered(ctx context.Context, name string) (uint64, error) {
	if err := ctx.Err(); err != nil {
		return 0, err
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	return max(m.reader(&m.events, name).next, 1) - 1, nil
}

// FollowBuckets implements events.BucketNotifications.
func (m *Memory) FollowBuckets(ctx context.Context, name string, wait time.Duration) (events.Delivery, error) {
	notice, err := m.follow(ctx, &m.buckets, name, wait)
	if err != nil {
		return nil, fmt.Errorf("follow buckets as %s: %w", name, err)
	}
	return notice, nil
}

// Notify implements events.BucketNotifications.
func (m *Memory) Notify(ctx context.Context, from string, message []byte) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	return m.Inject(ctx, events.BucketSubject(from), nil, message)
}

func (m *Memory) follow(ctx context.Context, s *stream, name string, wait time.Duration) (found *delivery, err error) {
	err = m.await(ctx, wait, func(now time.Time) (bool, time.Time) {
		var again time.Time
		found, again = m.hand(s, m.reader(s, name), now)
		return found != nil, again
	})
	return found, err
}

// hand delivers the next message, or returns when to check again. It requires m.mu.
func (m *Memory) hand(s *stream, r *reader, now time.Time) (found *delivery, again time.Time) {
	for {
		sequence, again := r.ready(now, s.last)
		if sequence == 0 {
			return nil, again
		}
		message := s.at(sequence)
		if message == nil { // removed
			r.settled(sequence)
			continue
		}
		r.waiting[sequence] = now.Add(m.terms.Length)
		if r.times == nil {
			r.times = map[uint64]int{}
		}
		r.times[sequence]++
		return &delivery{bus: m, reader: r, message: *message, deliveries: r.times[sequence]}, time.Time{}
	}
}

// reader requires m.mu.
func (m *Memory) reader(s *stream, name string) *reader {
	key := s.name + "/" + name
	if m.readers[key] == nil {
		m.readers[key] = &reader{next: 1, waiting: map[uint64]time.Time{}}
	}
	return m.readers[key]
}

// ready returns the message to deliver now, or 0 and when a waiting one is redelivered.
func (r *reader) ready(now time.Time, last uint64) (sequence uint64, again time.Time) {
	for waiting, at := range r.waiting {
		if !at.After(now) && (sequence == 0 || waiting < sequence) {
			sequence = waiting
		}
		if again.IsZero() || at.Before(again) {
			again = at
		}
	}
	if sequence == 0 && r.next <= last && !(r.single && len(r.waiting) > 0) {
		sequence = r.next
		r.next++
	}
	return sequence, again
}

func (r *reader) settled(sequence uint64) {
	delete(r.waiting, sequence)
	delete(r.times, sequence)
}

// delivery is one message delivered to one reader.
type delivery struct {
	bus        *Memory
	reader     *reader
	message    events.Message
	deliveries int
}

// eventDelivery is a delivery of the log.
type eventDelivery struct {
	*delivery
	recorded events.Recorded
}

func (d *eventDelivery) Recorded() events.Recorded { return d.recorded }

func (n *delivery) Message() events.Message { return n.message }

// Deliveries implements events.Delivery.
func (n *delivery) Deliveries() int { return n.deliveries }

// Ack implements events.Delivery.
func (n *delivery) Ack(ctx context.Context) error {
	return n.settle(ctx, func() error { n.reader.settled(n.message.Sequence); return nil })
}

// Nak implements events.Delivery.
func (n *delivery) Nak(ctx context.Context, delay time.Duration) error {
	return n.settle(ctx, func() error {
		if _, unsettled := n.reader.waiting[n.message.Sequence]; unsettled {
			n.reader.waiting[n.message.Sequence] = time.Now().Add(delay)
		}
		return nil
	})
}

// Term implements events.Delivery.
func (n *delivery) Term(ctx context.Context, reason events.DeadReason) error {
	return n.settle(ctx, func() error {
		n.reader.settled(n.message.Sequence)
		return n.bus.deadLetter(ctx, events.DeadLetter{Message: n.message, Reason: reason})
	})
}

func (n *delivery) settle(ctx context.Context, how func() error) error {
	n.bus.mu.Lock()
	defer n.bus.mu.Unlock()
	if err := n.bus.usable(ctx); err != nil {
		return fmt.Errorf("settle message %d of %s: %w", n.message.Sequence, n.message.Stream, err)
	}
	defer n.bus.wake()
	return how()
}
