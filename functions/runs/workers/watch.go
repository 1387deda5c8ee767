package workers

import (
	"cmp"
	"context"
	"reflect"
	"slices"
	"sync"
	"time"

	"github.com/stoker-ml/stoker/events"
)

// Remembered is how long a Watch keeps a worker after its last heartbeat.
const Remembered = time.Hour

// Limits of a Watch, because ids are what clients of the bus send.
const (
	maxWorkers = 2000
	maxGone    = 200
)

// Watch keeps the last heartbeat of each worker of a bus for the time Remembered. It is safe for
// concurrent use.
type Watch struct {
	now func() time.Time

	mu    sync.Mutex
	last  map[string]events.WorkerHeartbeat
	read  bool   // the kept heartbeats were read once
	fault string // why heartbeats can't be read now
}

// NewWatch returns a Watch without workers.
func NewWatch(now func() time.Time) *Watch {
	return &Watch{now: now, last: map[string]events.WorkerHeartbeat{}}
}

// Follow follows the heartbeats until ctx ends or the feed fails. It calls changed when a worker
// reports something new; a heartbeat that says the same does not count.
func (w *Watch) Follow(ctx context.Context, feed Feed, changed func()) error {
	for h, err := range feed.Workers(ctx, true) {
		if err != nil {
			w.note(err.Error())
			return err
		}
		if h.ID == "" {
			w.note("")
		}
		if w.add(h) {
			changed()
		}
	}
	return nil
}

// note records that the kept heartbeats were read, or why they can't be.
func (w *Watch) note(fault string) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.read, w.fault = w.read || fault == "", fault
}

// Status returns whether the workers were read once, and why they can't be read now; "" if they
// can.
func (w *Watch) Status() (read bool, fault string) {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.read, w.fault
}

// add adds a heartbeat, and reports whether it says anything new.
func (w *Watch) add(h events.WorkerHeartbeat) (news bool) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if h.ID == "" {
		return true
	}
	before, known := w.last[h.ID]
	if known && h.Beat < before.Beat {
		return false
	}
	now := w.now()
	w.last[h.ID] = h
	w.forget(now)
	return !known || before.Presence(now) != h.Presence(now) || !reflect.DeepEqual(content(before), content(h))
}

// content returns what a heartbeat says besides that the worker is alive.
func content(h events.WorkerHeartbeat) events.WorkerStatus {
	h.Beat = 0
	return h.WorkerStatus
}

// forget drops the workers that are gone for Remembered, and beyond the limits those that were
// heard of longest ago. It requires mu.
func (w *Watch) forget(now time.Time) {
	gone, oldest := 0, events.WorkerHeartbeat{}
	var oldestGone events.WorkerHeartbeat
	for id, h := range w.last {
		switch {
		case now.Sub(h.Heard) >= Remembered:
			delete(w.last, id)
			continue
		case h.Presence(now) == events.WorkerGone:
			if gone++; oldestGone.ID == "" || h.Heard.Before(oldestGone.Heard) {
				oldestGone = h
			}
		}
		if oldest.ID == "" || h.Heard.Before(oldest.Heard) {
			oldest = h
		}
	}
	if gone > maxGone {
		delete(w.last, oldestGone.ID)
	}
	if len(w.last) > maxWorkers {
		delete(w.last, cmp.Or(oldestGone.ID, oldest.ID))
	}
}

// All returns the workers, by host and id; gone are those that have ended or are lost, the last one
// first.
func (w *Watch) All() (here, gone []Worker) {
	now := w.now()
	w.mu.Lock()
	for _, h := range w.last {
		one := Worker{h, h.Presence(now)}
		switch {
		case one.Presence != events.WorkerGone:
			here = append(here, one)
		case now.Sub(h.Heard) < Remembered:
			gone = append(gone, one)
		}
	}
	w.mu.Unlock()
	slices.SortFunc(here, func(a, b Worker) int { return cmp.Or(cmp.Compare(a.Host, b.Host), cmp.Compare(a.ID, b.ID)) })
	slices.SortFunc(gone, func(a, b Worker) int { return cmp.Or(b.Heard.Compare(a.Heard), cmp.Compare(a.ID, b.ID)) })
	return here, gone
}

// Worker returns a worker by its id; false if it is unknown or forgotten.
func (w *Watch) Worker(id string) (Worker, bool) {
	now := w.now()
	w.mu.Lock()
	defer w.mu.Unlock()
	h, known := w.last[id]
	return Worker{h, h.Presence(now)}, known && now.Sub(h.Heard) < Remembered
}
