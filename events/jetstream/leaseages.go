package jetstream

import (
	"context"
	"fmt"
	"sync"
	"time"

	"github.com/nats-io/nats.go/jetstream"
)

// leaseAges records since when each lease has been seen unchanged, on our own monotonic clock. A
// lease is taken over by compare-and-swap on the revision that was seen for a whole lease length:
// so an outdated observation, because a change arrived late or not at all, can only make us wait or
// fail the swap. For our own leases it reports writes by others, which our next heartbeat would
// detect later.
type leaseAges struct {
	now func() time.Time

	mu      sync.Mutex
	started bool
	seen    map[string]leaseAge // by key
	ours    map[string]*mark    // by key: of the leases that this process holds
}

type leaseAge struct {
	revision uint64
	since    time.Time
}

// age returns how long revision of key has been known, and records it if it is new.
func (s *leaseAges) age(key string, revision uint64) time.Duration {
	s.mu.Lock()
	defer s.mu.Unlock()
	if known, ok := s.seen[key]; ok && known.revision == revision {
		return s.now().Sub(known.since)
	}
	s.seen[key] = leaseAge{revision: revision, since: s.now()}
	return 0
}

// watch returns a mark for a lease that we wrote, and passes it the revisions that the watcher sees
// from then on, or has seen already.
func (s *leaseAges) watch(key string, revision uint64) *mark {
	s.mu.Lock()
	defer s.mu.Unlock()
	m := newMark(revision)
	s.ours[key] = m
	m.see(s.seen[key].revision)
	return m
}

func (s *leaseAges) unwatch(key string, m *mark) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.ours[key] == m {
		delete(s.ours, key)
	}
}

// see passes a revision to the mark of a lease that we hold.
func (s *leaseAges) see(key string, revision uint64) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if m := s.ours[key]; m != nil {
		m.see(revision)
	}
}

func (s *leaseAges) forget(key string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.seen, key)
}

// observe starts to watch all leases, at the first Claim. Without it a lease would only be seen
// when its job is redelivered, and would have to be waited out once more from there.
func (b *Bus) observe(ctx context.Context) error {
	b.leaseAges.mu.Lock()
	defer b.leaseAges.mu.Unlock()
	if b.leaseAges.started {
		return nil
	}
	watcher, err := b.leases.WatchAll(b.closing, jetstream.MetaOnly())
	if err != nil {
		return fmt.Errorf("watch leases: %w", b.explain(ctx, err))
	}
	b.leaseAges.started = true
	b.background(func(closing context.Context) {
		b.leaseAges.follow(closing, watcher.Updates())
		b.leaseAges.ended() // the server may have lost the watch: the next Claim starts another
	})
	return nil
}

func (s *leaseAges) ended() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.started = false
}

func (s *leaseAges) follow(closing context.Context, updates <-chan jetstream.KeyValueEntry) {
	for {
		select {
		case <-closing.Done():
			return
		case entry, ok := <-updates:
			if !ok {
				return
			}
			if entry != nil { // nil: the end of the existing entries
				s.note(entry)
			}
		}
	}
}

func (s *leaseAges) note(entry jetstream.KeyValueEntry) {
	if entry.Operation() == jetstream.KeyValuePut {
		s.age(entry.Key(), entry.Revision())
	} else {
		s.forget(entry.Key())
	}
	s.see(entry.Key(), entry.Revision())
}

// mark distinguishes our own writes of a lease's entry from those of others; a watcher sees both.
// There is news when it saw a revision newer than the last one that we wrote.
type mark struct {
	news chan struct{} // holds a value when there is news

	mu       sync.Mutex
	revision uint64 // the last one that is ours
	busy     bool   // one of our writes is in flight: a seen revision may be that
	seen     uint64 // the newest
}

func newMark(revision uint64) *mark { return &mark{revision: revision, news: make(chan struct{}, 1)} }

// writing begins a write over the revision that it returns; wrote ends it.
func (m *mark) writing() uint64 {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.busy = true
	return m.revision
}

// wrote sets the revision of our write; 0 if it failed.
func (m *mark) wrote(revision uint64) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.busy = false
	m.revision = max(m.revision, revision)
	m.notify()
}

// see is called by the watcher.
func (m *mark) see(revision uint64) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.seen = max(m.seen, revision)
	m.notify()
}

// notify requires mu.
func (m *mark) notify() {
	if m.busy || m.seen <= m.revision {
		return
	}
	select {
	case m.news <- struct{}{}:
	default: // it holds one
	}
}
