package eventstest

import (
	"context"
	"fmt"
	"iter"
	"slices"
	"time"

	"github.com/stoker-ml/stoker/events"
)

// Publish implements events.Log.
func (m *Memory) Publish(ctx context.Context, f events.Fact) (events.Receipt, error) {
	header, body, err := events.Encode(f)
	if err != nil {
		return events.Receipt{}, err
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	if err := m.usable(ctx); err != nil {
		return events.Receipt{}, fmt.Errorf("publish: %w", err)
	}
	subject := events.FactSubject(f)
	if before := m.facts.find(subject); before != nil {
		if told, err := events.Decode(before.Header, before.Body); err == nil && told.Source != f.Source {
			return events.Receipt{}, fmt.Errorf("publish %s: %w: %s told it first", subject, events.ErrConflict, told.Source)
		}
		return events.Receipt{Sequence: before.Sequence, Duplicate: true}, nil
	}
	message := m.facts.add(subject, header, body)
	m.wake()
	return events.Receipt{Sequence: message.Sequence}, nil
}

// Read implements events.Log.
func (m *Memory) Read(ctx context.Context, q events.Query) iter.Seq2[events.Recorded, error] {
	return func(yield func(events.Recorded, error) bool) {
		for next := max(q.From, 1); ; {
			message, last, err := m.after(ctx, next, q.Follow)
			if err != nil && !(q.Follow && ctx.Err() != nil) {
				yield(events.Recorded{}, err)
			}
			if err != nil || last || (q.Until != 0 && message.Sequence >= q.Until) {
				return
			}
			if selects(q, message.Subject) && !yield(record(message), nil) {
				return
			}
			next = message.Sequence + 1
		}
	}
}

// after returns the first fact from sequence on. last says that there is none yet; with follow it is waited for.
func (m *Memory) after(ctx context.Context, sequence uint64, follow bool) (message events.Message, last bool, err error) {
	const forEver = 1 << 62
	wait := time.Duration(0)
	if follow {
		wait = forEver
	}
	err = m.await(ctx, wait, func(time.Time) (bool, time.Time) {
		last = m.facts.last < sequence
		if !last {
			message = m.facts.messages[sequence-1] // facts are never removed
		}
		return !last || !follow, time.Time{}
	})
	if err == nil && ctx.Err() != nil {
		err = context.Cause(ctx)
	}
	return message, last, err
}

// selects tells whether a subject is one that q asks for.
func selects(q events.Query, subject string) bool {
	return slices.ContainsFunc(events.FactFilters(q), func(filter string) bool { return matches(filter, subject) })
}

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

// reader is one durable place in the log.
type reader struct {
	next    uint64               // first fact never delivered
	waiting map[uint64]time.Time // delivered but not settled: when it is delivered again
}

// Follow implements events.Log.
func (m *Memory) Follow(ctx context.Context, name string, wait time.Duration) (events.Delivery, error) {
	var found delivery
	err := m.await(ctx, wait, func(now time.Time) (bool, time.Time) {
		r := m.readers[name]
		if r == nil {
			r = &reader{next: 1, waiting: map[uint64]time.Time{}}
			m.readers[name] = r
		}
		sequence, again := r.ready(now, m.facts.last)
		if sequence == 0 {
			return false, again
		}
		r.waiting[sequence] = now.Add(m.terms.Length)
		found = delivery{box: m, reader: r, recorded: record(m.facts.messages[sequence-1])}
		return true, time.Time{}
	})
	if err != nil {
		return nil, fmt.Errorf("follow facts as %s: %w", name, err)
	}
	return &found, nil
}

// ready returns the fact to deliver now, or 0 and when one that waits comes again.
func (r *reader) ready(now time.Time, last uint64) (sequence uint64, again time.Time) {
	for waiting, at := range r.waiting {
		if !at.After(now) && (sequence == 0 || waiting < sequence) {
			sequence = waiting
		}
		if again.IsZero() || at.Before(again) {
			again = at
		}
	}
	if sequence == 0 && r.next <= last {
		sequence = r.next
		r.next++
	}
	return sequence, again
}

// delivery is one fact handed to one reader.
type delivery struct {
	box      *Memory
	reader   *reader
	recorded events.Recorded
}

func (d *delivery) Recorded() events.Recorded { return d.recorded }

// Done implements events.Delivery.
func (d *delivery) Done(ctx context.Context) error {
	return d.settle(ctx, func() error { delete(d.reader.waiting, d.recorded.Message.Sequence); return nil })
}

// Later implements events.Delivery.
func (d *delivery) Later(ctx context.Context, delay time.Duration) error {
	return d.settle(ctx, func() error {
		if _, unsettled := d.reader.waiting[d.recorded.Message.Sequence]; unsettled {
			d.reader.waiting[d.recorded.Message.Sequence] = time.Now().Add(delay)
		}
		return nil
	})
}

// Never implements events.Delivery.
func (d *delivery) Never(ctx context.Context, reason events.DeadReason) error {
	return d.settle(ctx, func() error {
		delete(d.reader.waiting, d.recorded.Message.Sequence)
		return d.box.bury(ctx, events.DeadLetter{Message: d.recorded.Message, Reason: reason})
	})
}

func (d *delivery) settle(ctx context.Context, how func() error) error {
	d.box.mu.Lock()
	defer d.box.mu.Unlock()
	if err := d.box.usable(ctx); err != nil {
		return fmt.Errorf("settle fact %d: %w", d.recorded.Message.Sequence, err)
	}
	defer d.box.wake()
	return how()
}
