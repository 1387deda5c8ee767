package guest

import (
	"log/slog"
	"sync"
)

// warmPool keeps idle processes for builtin modules. It is empty until the first one was taken: a worker that never gets
// such a job pays nothing.
type warmPool struct {
	size    int
	start   func() (*process, error)
	log     *slog.Logger
	refills sync.WaitGroup

	mu     sync.Mutex
	idle   []*process
	coming int // processes being started
	closed bool
}

func newWarmPool(size int, start func() (*process, error), log *slog.Logger) *warmPool {
	return &warmPool{size: size, start: start, log: log}
}

// take hands out an idle process or starts one, and sees to it that others get ready meanwhile.
func (w *warmPool) take() (*process, error) {
	defer w.refill()
	for {
		p := w.pop()
		if p == nil {
			return w.start()
		}
		if !p.dead() {
			return p, nil
		}
		p.end()
	}
}

func (w *warmPool) pop() *process {
	w.mu.Lock()
	defer w.mu.Unlock()
	if len(w.idle) == 0 {
		return nil
	}
	p := w.idle[0]
	w.idle = w.idle[1:]
	return p
}

// refill starts what is missing, in the background.
func (w *warmPool) refill() {
	w.mu.Lock()
	defer w.mu.Unlock()
	for ; !w.closed && len(w.idle)+w.coming < w.size; w.coming++ {
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
		p.end()
	default:
		w.idle = append(w.idle, p)
	}
}

// close ends all idle processes and waits for them.
func (w *warmPool) close() {
	w.mu.Lock()
	w.closed = true
	w.mu.Unlock()
	w.refills.Wait()
	for p := w.pop(); p != nil; p = w.pop() {
		p.end()
	}
}
