package dispatch

import (
	"context"
	"errors"
	"sync"

	"github.com/stoker-ml/stoker/events"
)

// sharedReads shares reads of keys at the leader among events that need the same key at once: one
// request answers all callers that asked before it was sent. So each caller gets a value that a
// request of its own could have got, and a burst of events sends few requests. The zero value is
// ready to use. Its methods may be called by several goroutines at once.
type sharedReads struct {
	mu   sync.Mutex
	keys map[string]*sharedKey
}

// sharedKey is a key that is being read, or will be.
type sharedKey struct {
	running bool
	// For callers that have asked since the running read was sent; nil: none has.
	next *sharedRead
}

// sharedRead is one request. Its result is set once done is closed.
type sharedRead struct {
	begin chan struct{} // closed when the running one has ended
	done  chan struct{}
	entry events.Entry
	err   error
}

// get reads a key with read, or returns the result of another caller's read that begins after this
// call. An error of the caller's own ctx is its own: if another caller's ctx has ended, this one
// reads by itself.
func (s *sharedReads) get(ctx context.Context, key string, read func(context.Context) (events.Entry, error)) (events.Entry, error) {
	call, mine := s.join(key)
	if !mine {
		select {
		case <-ctx.Done():
			return events.Entry{}, context.Cause(ctx)
		case <-call.done:
		}
		if ctx.Err() == nil && call.err != nil {
			return read(ctx)
		}
		return call.entry, call.err
	}
	<-call.begin
	defer s.ended(key)
	defer close(call.done)
	call.err = errUnread
	call.entry, call.err = read(ctx)
	return call.entry, call.err
}

// errUnread is the error of a read that has not returned, because it panicked.
var errUnread = errors.New("the read has not returned")

// join returns the read that answers callers who ask now; mine is true if the caller is to make it.
func (s *sharedReads) join(key string) (call *sharedRead, mine bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.keys == nil {
		s.keys = map[string]*sharedKey{}
	}
	k := s.keys[key]
	if k == nil {
		k = &sharedKey{}
		s.keys[key] = k
	}
	if k.next != nil {
		return k.next, false
	}
	call = &sharedRead{begin: make(chan struct{}), done: make(chan struct{})}
	if k.running {
		k.next = call
	} else {
		k.running = true
		close(call.begin)
	}
	return call, true
}

// ended lets the next read of a key begin.
func (s *sharedReads) ended(key string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	k := s.keys[key]
	if k.next == nil {
		delete(s.keys, key)
		return
	}
	close(k.next.begin)
	k.next = nil
}
