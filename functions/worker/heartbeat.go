package worker

import (
	"cmp"
	"context"
	"crypto/rand"
	"errors"
	"log/slog"
	"os"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/stoker-ml/stoker/events"
)

// Times of heartbeats.
const (
	leastPause = time.Second // between two heartbeats, however often something changes
	// Between two that the bus refused: its operator may grant the permission.
	refusedPause = 5 * time.Minute
	// How long a worker that has ended waits for its last heartbeat to be sent.
	lastTime = time.Second
)

// heartbeats tells observers what the worker does. Nothing that a job does waits for them: they are
// sent by a goroutine of their own, and a bus that does not take them is tried again.
type heartbeats struct {
	worker *Worker

	mu     sync.Mutex
	status events.WorkerStatus
	jobs   []events.WorkerJob // all that it holds, the oldest first
	failed bool               // to send the last one

	changed chan struct{} // has a value if something has changed
}

func newHeartbeats(w *Worker) *heartbeats {
	host := hostName()
	id := w.opts.ID
	if id == "" {
		id = NewID(host)
	}
	status := events.WorkerStatus{
		ID: id, Host: host, Classes: w.opts.Classes, Slots: w.opts.Slots, GPUs: w.opts.GPUs, Version: cmp.Or(w.opts.Version, "unknown"), Started: w.opts.Now().UTC(),
	}
	for _, function := range w.opts.Functions {
		status.Functions = append(status.Functions, function.Name())
	}
	return &heartbeats{worker: w, status: status, changed: make(chan struct{}, 1)}
}

// name returns how the worker names itself, which never changes.
func (b *heartbeats) name() Name { return Name{b.status.ID, b.status.Host, b.status.Version} }

func hostName() string {
	name, err := os.Hostname()
	if err != nil || name == "" {
		return "unknown"
	}
	return name
}

// NewID returns an id for a worker's process, from the name of its host, that no other has.
func NewID(host string) string {
	const most, random = 48, 6
	name := strings.Trim(strings.Map(func(r rune) rune {
		switch r = min(r, 127); {
		case r >= 'A' && r <= 'Z':
			return r + 'a' - 'A'
		case r >= 'a' && r <= 'z', r >= '0' && r <= '9':
			return r
		}
		return '-'
	}, host), "-")
	name = strings.Trim(name[:min(len(name), most)], "-")
	return cmp.Or(name, "worker") + "-" + strings.ToLower(rand.Text()[:random])
}

// begin sends heartbeats until end is called, which sends the last one. Once ctx has ended, they
// say that the worker is draining.
func (h *heartbeats) begin(ctx context.Context) (end func()) {
	ended, sent := make(chan struct{}), make(chan struct{})
	h.change(func() { h.status.Draining, h.status.Ended = false, false })
	stop := context.AfterFunc(ctx, func() {
		h.change(func() { h.status.Draining = true })
	})
	go func() {
		defer close(sent)
		h.run(context.WithoutCancel(ctx), ended)
	}()
	return func() {
		stop()
		close(ended)
		select {
		case <-sent:
		case <-time.After(lastTime):
		}
	}
}

// run sends a heartbeat at once, after each change and after each pause, and the last one when
// ended is closed.
func (h *heartbeats) run(ctx context.Context, ended <-chan struct{}) {
	for {
		pause, news := events.WorkerPause, h.changed
		if err := h.send(ctx); errors.Is(err, events.ErrRefused) {
			pause, news = refusedPause, nil
		}
		if !await(ended, nil, leastPause) || !await(ended, news, pause-leastPause) {
			h.change(func() { h.status.Ended = true })
			_ = h.send(ctx) // it is known for a while then, as one that is late
			return
		}
	}
}

// await waits for a pause, or for news; false if ended is closed.
func await(ended, news <-chan struct{}, pause time.Duration) bool {
	timer := time.NewTimer(pause)
	defer timer.Stop()
	select {
	case <-ended:
		return false
	case <-news:
	case <-timer.C:
	}
	return true
}

// send sends one heartbeat. The first failure of several is logged.
func (h *heartbeats) send(ctx context.Context) error {
	h.mu.Lock()
	h.status.Beat++
	h.status.Busy, h.status.Jobs = len(h.worker.slots), slices.Clone(h.jobs)
	status := h.status.Bounded()
	h.mu.Unlock()
	err := h.worker.bus.ReportWorker(ctx, status)
	level := slog.LevelDebug
	if err != nil && !h.failed && !errors.Is(err, events.ErrUnavailable) && !errors.Is(err, events.ErrClosed) {
		level = slog.LevelWarn
	}
	if h.failed = err != nil; h.failed {
		h.worker.opts.Logger.Log(ctx, level, "heartbeat not sent; jobs are not affected", "worker", status.ID, "error", err)
	}
	return err
}

// change changes the status, which is sent soon.
func (h *heartbeats) change(do func()) {
	h.mu.Lock()
	do()
	h.mu.Unlock()
	select {
	case h.changed <- struct{}{}:
	default:
	}
}

// hold adds a job that the worker has claimed, until done is called.
func (h *heartbeats) hold(job events.Job, attempt events.Attempt) (done func()) {
	held := events.WorkerJob{
		Job: job.ID, Function: job.Function, Pipeline: job.Pipeline, Run: job.Run, Attempt: attempt.ID, Number: attempt.Number, Since: h.worker.opts.Now().UTC(),
	}
	h.change(func() { h.jobs = append(h.jobs, held) })
	return func() {
		h.change(func() {
			h.jobs = slices.DeleteFunc(h.jobs, func(other events.WorkerJob) bool { return other.Attempt == held.Attempt })
		})
	}
}

// phase notes the phase of an attempt for the next heartbeat.
func (h *heartbeats) phase(attempt, phase string) {
	h.mu.Lock()
	defer h.mu.Unlock()
	for i := range h.jobs {
		if h.jobs[i].Attempt == attempt {
			h.jobs[i].Phase = phase
		}
	}
}
