package runner

import (
	"log/slog"
	"sync"
)

// warmPool keeps processes for builtin modules, size of them: idle ones, and those at work that may come back. It is empty
// until the first one was taken: a worker that never gets such a job pays nothing.
type warmPool struct {
	size    int
	start   func() (*child, error)
	fit     func(p *child, limit int64) bool // whether one that waits can take an assignment
	log     *slog.Logger
	refills sync.WaitGroup

	mu     sync.Mutex
	idle   []*child
	out    int // processes taken, and not given back or lost yet
	coming int // processes being started
	closed bool
}

func newWarmPool(size int, start func() (*child, error), log *slog.Logger) *warmPool {
	return &warmPool{size: size, start: start, fit: (*child).ready, log: log}
}

// take hands out an idle process that can take an assignment bound to limit bytes, or starts one. It is to be given back with
// putBack if it can serve again, else it is lost.
func (w *warmPool) take(limit int64) (*child, error) {
	defer w.refill()
	for p := w.pop(); p != nil; p = w.pop() {
		if w.fit(p, limit) {
			return p, nil
		}
		w.lost()
		p.End()
	}
	p, err := w.start()
	if err == nil {
		w.mu.Lock()
		w.out++
		w.mu.Unlock()
	}
	return p, err
}

// pop takes the idle process that was used last, or none.
func (w *warmPool) pop() *child {
	w.mu.Lock()
	defer w.mu.Unlock()
	last := len(w.idle) - 1
	if last < 0 {
		return nil
	}
	p := w.idle[last]
	w.idle = w.idle[:last]
	w.out++
	return p
}

// putBack takes a process that is fit for another assignment. One too many is ended.
func (w *warmPool) putBack(p *child) {
	if !w.keep(p) {
		p.End()
	}
}

func (w *warmPool) keep(p *child) bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.out--
	if w.closed || len(w.idle) >= w.size {
		return false
	}
	p.idled = true
	w.idle = append(w.idle, p)
	return true
}

// lost tells of a process that was taken and has ended. Another is started in its place.
func (w *warmPool) lost() {
	w.mu.Lock()
	w.out--
	w.mu.Unlock()
	w.refill()
}

// refill starts what is missing, in the background.
func (w *warmPool) refill() {
	w.mu.Lock()
	defer w.mu.Unlock()
	for ; !w.closed && len(w.idle)+w.out+w.coming < w.size; w.coming++ {
		w.refills.Go(w.add)
	}
}

// add starts one idle process. If that fails, the next job starts its own and tells.
func (w *warmPool) add() {
	p, err := w.start()
	w.mu.Lock()
	defer w.mu.Unlock()
	w.coming--
	switch {
	case err != nil:
		w.log.Warn("no idle module process", "error", err)
	case w.closed:
		p.End()
	default:
		p.idled = true
		w.idle = append(w.idle, p)
	}
}

// close ends all idle processes and waits for them. One that is at work is ended when it is given back.
func (w *warmPool) close() {
	w.mu.Lock()
	w.closed = true
	w.mu.Unlock()
	w.refills.Wait()
	for p := w.pop(); p != nil; p = w.pop() {
		p.End()
	}
}
