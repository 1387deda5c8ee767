package cache

import (
	"context"
	"reflect"
	"sync"
	"time"
)

// Poll keeps an answer of the bus that pages show, and asks again while they do. A page never waits
// long for it, also while the bus is away.
type Poll[V any] struct {
	ask    func(context.Context) (V, error)
	now    func() time.Time
	wanted chan struct{} // has an item if a page wants the answer

	mu     sync.Mutex
	last   Polled[V]
	answer chan struct{} // closed with the next answer
}

// Polled is the last answer. With an error, it is the last one before.
type Polled[V any] struct {
	Value V
	Err   error
	Known bool // there was an answer without an error
	at    time.Time
}

// Times of a Poll.
const (
	pollFresh   = 4 * time.Second        // a page waits for an answer that is older
	pollPatient = 200 * time.Millisecond // for so long
	pollPause   = 2 * time.Second        // between two answers
	pollLongest = 30 * time.Second       // that the bus may take
)

// NewPoll returns a Poll that asks with ask, once Run runs.
func NewPoll[V any](now func() time.Time, ask func(context.Context) (V, error)) *Poll[V] {
	return &Poll[V]{ask: ask, now: now, wanted: make(chan struct{}, 1), answer: make(chan struct{})}
}

// Read returns the last answer, and sees to it that there is a newer one soon.
func (p *Poll[V]) Read(ctx context.Context) Polled[V] {
	select {
	case p.wanted <- struct{}{}:
	default:
	}
	p.mu.Lock()
	last, next := p.last, p.answer
	p.mu.Unlock()
	if age := p.now().Sub(last.at); !last.at.IsZero() && age >= 0 && age < pollFresh {
		return last
	}
	timer := time.NewTimer(pollPatient)
	defer timer.Stop()
	select {
	case <-next:
	case <-timer.C:
	case <-ctx.Done():
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.last
}

// Run asks while answers are wanted, until ctx ends. It calls changed when the answer is another
// one.
func (p *Poll[V]) Run(ctx context.Context, changed func()) {
	for {
		select {
		case <-ctx.Done():
			return
		case <-p.wanted:
		}
		asking, cancel := context.WithTimeout(ctx, pollLongest)
		value, err := p.ask(asking)
		cancel()
		if ctx.Err() != nil {
			return
		}
		if p.note(value, err) {
			changed()
		}
		select {
		case <-ctx.Done():
			return
		case <-time.After(pollPause):
		}
	}
}

func (p *Poll[V]) note(value V, err error) (changed bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	before := p.last
	if p.last.Err, p.last.at = err, p.now(); err == nil {
		p.last.Value, p.last.Known = value, true
	}
	close(p.answer)
	p.answer = make(chan struct{})
	return (err == nil) != (before.Err == nil) || !before.Known || !reflect.DeepEqual(before.Value, p.last.Value)
}
