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
	minPause = time.Second // between two heartbeats, however often something changes
	// After a heartbeat that the bus refused: its operator may grant the permission.
	refusedPause = 5 * time.Minute
	lastTimeout  = time.Second // for sending the last one
)

// heartbeats reports to observers what the worker does. No job waits for them: a goroutine of their
// own sends them, and retries after an error.
type heartbeats struct {
	worker *Worker

	mu     sync.Mutex
	status events.WorkerStatus
	jobs   []events.WorkerJob // all that it holds, the oldest first

	failed bool // the last one was not sent; of the goroutine that sends

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

// name returns the name of the worker, which never changes.
func (h *heartbeats) name() Name { return Name{h.status.ID, h.status.Host, h.status.Version} }

func hostName() string {
	name, err := os.Hostname()
	if err != nil || name == "" {
		return "unknown"
	}
	return name
}

// NewID returns a unique id for a worker's process: the name of its host and random characters.
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
		case <-time.After(lastTimeout):
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
		if !await(ended, nil, minPause) || !await(ended, news, pause-minPause) {
			h.change(func() { h.status.Ended = true })
			_ = h.send(ctx) // without it, observers see the worker as late, then as gone
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

// send sends one heartbeat. Of consecutive failures, only the first is logged as a warning.
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
