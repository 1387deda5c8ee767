package bustest

import (
	"context"
	"fmt"
	"iter"
	"slices"
	"time"

	"github.com/stoker-ml/stoker/events"
)

// Publish implements events.EventLog.
func (m *Memory) Publish(ctx context.Context, f events.Event) (events.Receipt, error) {
	header, body, err := events.Encode(f)
	if err != nil {
		return events.Receipt{}, err
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	if err := m.usable(ctx); err != nil {
		return events.Receipt{}, fmt.Errorf("publish: %w", err)
	}
	subject := events.EventSubject(f)
	if before := m.events.find(subject); before != nil {
		if err := events.CheckRepeated(f, *before); err != nil {
			return events.Receipt{}, fmt.Errorf("publish %s: %w", subject, err)
		}
		return events.Receipt{Sequence: before.Sequence, Duplicate: true}, nil
	}
	if err := checkSize(body); err != nil {
		return events.Receipt{}, fmt.Errorf("publish %s: %w", subject, err)
	}
	message := m.events.add(subject, header, body)
	m.wake()
	return events.Receipt{Sequence: message.Sequence}, nil
}

// Read implements events.EventLog.
func (m *Memory) Read(ctx context.Context, q events.Query) iter.Seq2[events.Recorded, error] {
	filters := events.EventFilters(q)
	return func(yield func(events.Recorded, error) bool) {
		for next := max(q.From, 1); ; {
			message, last, err := m.after(ctx, q, filters, next)
			if err != nil && !(q.Follow && ctx.Err() != nil) {
				yield(events.Recorded{}, err)
			}
			if err != nil || last || !yield(record(message), nil) {
				return
			}
			next = message.Sequence + 1
		}
	}
}

// after returns the first event from sequence on that one of the filters of q matches. last means
// that there is none up to q.Until, or none yet; with q.Follow it is awaited.
func (m *Memory) after(ctx context.Context, q events.Query, filters []string, sequence uint64) (message events.Message, last bool, err error) {
	const unbounded = 1 << 62
	wait := time.Duration(0)
	if q.Follow {
		wait = unbounded
	}
	err = m.await(ctx, wait, func(time.Time) (bool, time.Time) {
		for ; sequence <= m.events.last; sequence++ {
			message = m.events.messages[sequence-1] // events are never removed
			last = q.Until != 0 && sequence >= q.Until
			if last || selects(filters, message.Subject) {
				return true, time.Time{}
			}
		}
		last = !q.Follow
		return last, time.Time{}
	})
	if err == nil && ctx.Err() != nil {
		err = context.Cause(ctx)
	}
	return message, last, err
}

// selects reports whether one of the filters matches the subject.
func selects(filters []string, subject string) bool {
	return slices.ContainsFunc(filters, func(filter string) bool { return matches(filter, subject) })
}

func record(message events.Message) events.Recorded {
	event, err := events.Decode(message.Header, message.Body)
	if err == nil {
		err = events.CheckEventSubject(event, message.Subject)
	}
	if err != nil {
		return events.Recorded{Message: message, Err: err}
	}
	return events.Recorded{Message: message, Event: event}
}
