package jetstream

import "sync"

// mark distinguishes our own writes of a lease's entry from those of others; a watcher sees both. There is news when a revision
// was seen that is newer than the last one that we wrote.
type mark struct {
	news chan struct{} // holds something when there is

	mu       sync.Mutex
	revision uint64 // the last one that is ours
	busy     bool   // a write of ours is on its way: what is seen may be that
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

// wrote says which revision is ours by now; 0 if the write failed.
func (m *mark) wrote(revision uint64) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.busy = false
	m.revision = max(m.revision, revision)
	m.notify()
}

// see is the watcher's.
func (m *mark) see(revision uint64) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.seen = max(m.seen, revision)
	m.notify()
}

// notify needs mu.
func (m *mark) notify() {
	if m.busy || m.seen <= m.revision {
		return
	}
	select {
	case m.news <- struct{}{}:
	default: // it is there
	}
}
