package bustest

import (
	"context"
	"fmt"
	"iter"
	"slices"
	"sync"
	"time"

	"github.com/stoker-ml/stoker/events"
)

// Memory is a bus in this process. It implements the whole contract, leases included, and uses the
// clock of package time: inside testing/synctest that is the test's own.
type Memory struct {
	terms events.LeaseTerms

	mu       sync.Mutex
	changed  chan struct{} // closed, and replaced, at every change that may be awaited
	events   stream
	jobs     stream
	dead     stream
	studies  stream
	buckets  stream
	readers  map[string]*reader // by stream and name
	kvs      map[string]*kv
	watchers map[*watcher]struct{}
	workers  map[string]numbered // the last heartbeat of each worker, by subject
	beats    uint64              // heartbeats so far
	// The last parts of jobs' logs, by the filter that finds them.
	logs     map[string][]events.Progress
	claims   map[string]*claim       // the last claim of each job
	serving  map[string][]*responder // by subject
	attempts int                     // returned so far: the next attempt's id
	closed   bool
	closing  chan struct{} // closed by Close
}

var _ events.Bus = (*Memory)(nil)

// NewMemory returns an empty bus whose leases last for lease without a heartbeat; 0 is 30 seconds.
func NewMemory(lease time.Duration) *Memory {
	if lease == 0 {
		lease = 30 * time.Second
	}
	m := &Memory{
		terms:    events.LeaseTerms{Length: lease, Margin: lease / 10},
		changed:  make(chan struct{}),
		events:   stream{name: events.StreamEvents},
		jobs:     stream{name: events.StreamJobs},
		dead:     stream{name: events.StreamDead},
		studies:  stream{name: events.StreamStudies},
		buckets:  stream{name: events.StreamBuckets},
		readers:  map[string]*reader{},
		kvs:      map[string]*kv{},
		watchers: map[*watcher]struct{}{},
		workers:  map[string]numbered{},
		logs:     map[string][]events.Progress{},
		claims:   map[string]*claim{},
		serving:  map[string][]*responder{},
		closing:  make(chan struct{}),
	}
	for _, name := range []string{events.KVPipelines, events.KVJoins, events.KVGates, events.KVLeases} {
		m.kvs[name] = &kv{name: name, bus: m, newest: map[string]events.Entry{}}
	}
	return m
}

// Close ends all waiting calls, and every later one, with events.ErrClosed.
func (m *Memory) Close() error {
	m.mu.Lock()
	defer m.mu.Unlock()
	if !m.closed {
		m.closed = true
		close(m.closing)
		m.wake()
	}
	return nil
}

// usable requires m.mu.
func (m *Memory) usable(ctx context.Context) error {
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	if m.closed {
		return events.ErrClosed
	}
	return nil
}

// Inject appends a message as a foreign publisher would: nothing is checked. The subject determines
// the stream.
func (m *Memory) Inject(_ context.Context, subject string, header map[string][]string, body []byte) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	if events.StreamOf(subject) == events.StreamWorkers {
		m.keepWorker(subject, body)
		return nil
	}
	to := m.stream(subject)
	if to == nil {
		return fmt.Errorf("inject %s: no stream takes it", subject)
	}
	to.add(subject, header, body)
	m.wake()
	return nil
}

func (m *Memory) stream(subject string) *stream {
	for _, to := range []*stream{&m.events, &m.jobs, &m.dead, &m.studies, &m.buckets} {
		if to.name == events.StreamOf(subject) {
			return to
		}
	}
	return nil
}

// wake wakes all waiters, which then check again. It requires m.mu.
func (m *Memory) wake() {
	close(m.changed)
	m.changed = make(chan struct{})
}

// await calls look, with m.mu held, until it finds something, wait is over (ErrEmpty), ctx ends, or
// m is closed (ErrClosed). look returns when the result may change just by time; zero means never.
func (m *Memory) await(ctx context.Context, wait time.Duration, look func(now time.Time) (found bool, again time.Time)) error {
	deadline := time.Now().Add(wait)
	for {
		m.mu.Lock()
		now := time.Now()
		if m.closed {
			m.mu.Unlock()
			return events.ErrClosed
		}
		found, again := look(now)
		changed := m.changed
		m.mu.Unlock()
		if found {
			return nil
		}
		if !now.Before(deadline) {
			return events.ErrEmpty
		}
		if again.IsZero() || again.After(deadline) {
			again = deadline
		}
		timer := time.NewTimer(again.Sub(now))
		select {
		case <-ctx.Done():
			timer.Stop()
			return context.Cause(ctx)
		case <-changed:
		case <-timer.C:
		}
		timer.Stop()
	}
}

// DeadLetter implements events.Bus.
func (m *Memory) DeadLetter(ctx context.Context, d events.DeadLetter) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	if err := m.usable(ctx); err != nil {
		return fmt.Errorf("dead-letter: %w", err)
	}
	return m.deadLetter(ctx, d)
}

// DeleteDeadLetter implements events.Bus.
func (m *Memory) DeleteDeadLetter(ctx context.Context, sequence uint64) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	if err := m.usable(ctx); err != nil {
		return fmt.Errorf("delete dead letter %d: %w", sequence, err)
	}
	if !slices.ContainsFunc(m.dead.messages, func(message events.Message) bool { return message.Sequence == sequence }) {
		return fmt.Errorf("delete dead letter %d: %w", sequence, events.ErrNotFound)
	}
	m.dead.remove(sequence)
	return nil
}

// deadLetter appends a dead letter. It requires m.mu.
func (m *Memory) deadLetter(ctx context.Context, d events.DeadLetter) error {
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	body, err := d.Encode(maxPayload)
	if err != nil {
		return err
	}
	if subject := events.DeadSubject(d.Message); m.dead.find(subject) == nil {
		m.dead.add(subject, nil, body)
		m.wake()
	}
	return nil
}

// DeadLetters implements events.Bus.
func (m *Memory) DeadLetters(ctx context.Context) iter.Seq2[events.DeadLetter, error] {
	return m.deadLetters(ctx, (*stream).all)
}

// deadLetters yields the dead letters in the messages that choose returns, which is called with
// m.mu held.
func (m *Memory) deadLetters(ctx context.Context, choose func(dead *stream) []events.Message) iter.Seq2[events.DeadLetter, error] {
	return func(yield func(events.DeadLetter, error) bool) {
		m.mu.Lock()
		messages, err := choose(&m.dead), m.usable(ctx)
		m.mu.Unlock()
		if err != nil {
			yield(events.DeadLetter{}, fmt.Errorf("read dead letters: %w", err))
			return
		}
		for _, message := range messages {
			if ctx.Err() != nil {
				yield(events.DeadLetter{}, context.Cause(ctx))
				return
			}
			deadLetter, err := decode[events.DeadLetter](message.Body)
			deadLetter.Sequence, deadLetter.Stored = message.Sequence, message.Stored
			if !yield(deadLetter, err) || err != nil {
				return
			}
		}
	}
}
