package bustest

import (
	"context"
	"fmt"
	"time"

	"github.com/stoker-ml/stoker/events"
)

// Listen implements events.Listeners. Events of other kinds are skipped.
func (m *Memory) Listen(ctx context.Context, listener string, kinds []events.Kind, wait time.Duration) (events.EventDelivery, error) {
	filters := events.EventFilters(events.Query{Kinds: kinds})
	for deadline := time.Now().Add(wait); ; {
		notice, err := m.listen(ctx, &m.events, listener, time.Until(deadline))
		if err != nil {
			return nil, fmt.Errorf("listen to events as %s: %w", listener, err)
		}
		if selects(filters, notice.message.Subject) {
			return &eventDelivery{delivery: notice, recorded: record(notice.message)}, nil
		}
		if err := notice.Ack(ctx); err != nil {
			return nil, err
		}
	}
}

// ListenDead implements events.Listeners.
func (m *Memory) ListenDead(ctx context.Context, listener string, wait time.Duration) (events.DeadLetterDelivery, error) {
	notice, err := m.listen(ctx, &m.dead, listener, wait)
	if err != nil {
		return nil, fmt.Errorf("listen to dead letters as %s: %w", listener, err)
	}
	deadLetter, err := decode[events.DeadLetter](notice.message.Body)
	deadLetter.Sequence, deadLetter.Stored = notice.message.Sequence, notice.message.Stored
	return &deadLetterDelivery{delivery: notice, deadLetter: deadLetter}, err
}

// deadLetterDelivery is a dead letter handed to a listener.
type deadLetterDelivery struct {
	*delivery
	deadLetter events.DeadLetter
}

func (b *deadLetterDelivery) DeadLetter() events.DeadLetter { return b.deadLetter }

// listen is follow for a listener, which begins with the next message.
func (m *Memory) listen(ctx context.Context, s *stream, listener string, wait time.Duration) (*delivery, error) {
	m.begin(s, listener)
	return m.follow(ctx, s, listener, wait)
}

// begin makes a listener receive messages from now on, if it has not listened before.
func (m *Memory) begin(s *stream, listener string) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if key := s.name + "/" + listener; m.readers[key] == nil {
		m.readers[key] = &reader{next: s.last + 1, waiting: map[uint64]time.Time{}, single: true}
	}
}
