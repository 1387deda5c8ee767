package jetstream

import "sync"

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
