package eventstest

import (
	"context"
	"fmt"
	"time"

	"github.com/stoker-ml/stoker/events"
)

// Listen implements events.Listeners. Facts of other kinds are passed over as they are met.
func (m *Memory) Listen(ctx context.Context, listener string, kinds []events.Kind, wait time.Duration) (events.Delivery, error) {
	for deadline := time.Now().Add(wait); ; {
		notice, err := m.listen(ctx, &m.facts, listener, time.Until(deadline))
		if err != nil {
			return nil, fmt.Errorf("listen to facts as %s: %w", listener, err)
		}
		if selects(events.Query{Kinds: kinds}, notice.message.Subject) {
			return &delivery{notice: notice, recorded: record(notice.message)}, nil
		}
		if err := notice.Done(ctx); err != nil {
			return nil, err
		}
	}
}

// ListenDead implements events.Listeners.
func (m *Memory) ListenDead(ctx context.Context, listener string, wait time.Duration) (events.Burial, error) {
	notice, err := m.listen(ctx, &m.dead, listener, wait)
	if err != nil {
		return nil, fmt.Errorf("listen to dead letters as %s: %w", listener, err)
	}
	letter, err := decode[events.DeadLetter](notice.message.Body)
	letter.Sequence, letter.Buried = notice.message.Sequence, notice.message.Stored
	return &burial{notice: notice, letter: letter}, err
}

// burial is a dead letter handed to a listener.
type burial struct {
	*notice
	letter events.DeadLetter
}

func (b *burial) Letter() events.DeadLetter { return b.letter }

// listen is follow for one who begins with what comes next.
func (m *Memory) listen(ctx context.Context, s *stream, listener string, wait time.Duration) (*notice, error) {
	m.begin(s, listener)
	return m.follow(ctx, s, listener, wait)
}

// begin has a listener hear what comes from now on, if it has not listened before.
func (m *Memory) begin(s *stream, listener string) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if key := s.name + "/" + listener; m.readers[key] == nil {
		m.readers[key] = &reader{next: s.last + 1, waiting: map[uint64]time.Time{}, single: true}
	}
}
