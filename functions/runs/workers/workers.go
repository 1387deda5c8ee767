// Package workers lists the workers of a bus, as their heartbeats describe them. It decides
// nothing: which worker holds a job is known from the job's lease alone. Known reads them once,
// Watch follows them. Read Worker first.
package workers

import (
	"cmp"
	"context"
	"iter"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/stoker-ml/stoker/events"
)

// Worker is a worker at some time.
type Worker struct {
	events.WorkerHeartbeat
	Presence events.Presence `json:"presence"`
}

// Feed is the part of a bus that workers are read from.
type Feed interface {
	// As in events.WorkerFeed.
	Workers(ctx context.Context, follow bool) iter.Seq2[events.WorkerHeartbeat, error]
}

// IsAlive reports whether it sends heartbeats; a draining worker does.
func (w Worker) IsAlive() bool {
	return w.Presence == events.WorkerAlive || w.Presence == events.WorkerDraining
}

// Serves reports whether it claims jobs of a function and a class, now or once a slot is free.
func (w Worker) Serves(f events.Function, class string) bool {
	return w.Presence == events.WorkerAlive && slices.Contains(w.Functions, f) && slices.Contains(w.Classes, class)
}

// Known returns the workers that are not gone, by id.
func Known(ctx context.Context, feed Feed, now time.Time) ([]Worker, error) {
	last := map[string]events.WorkerHeartbeat{}
	for h, err := range feed.Workers(ctx, false) {
		if err != nil {
			return nil, err
		}
		if h.Beat >= last[h.ID].Beat {
			last[h.ID] = h
		}
	}
	list := []Worker{}
	for _, h := range last {
		if presence := h.Presence(now); presence != events.WorkerGone {
			list = append(list, Worker{h, presence})
		}
	}
	slices.SortFunc(list, func(a, b Worker) int { return strings.Compare(a.ID, b.ID) })
	return list, nil
}

// Queue names the queue of one function and class.
type Queue struct {
	Function events.Function
	Class    string
}

// Compare orders queues by class, then by function.
func (q Queue) Compare(other Queue) int {
	return cmp.Or(strings.Compare(q.Class, other.Class), strings.Compare(string(q.Function), string(other.Function)))
}

// Serving is the number of workers that claim jobs of a queue, and of their slots that are free. A
// slot counts for each queue that its worker serves.
type Serving struct{ Workers, Free int }

// ByQueue returns what serves each queue that at least one worker serves.
func ByQueue(all []Worker) map[Queue]Serving {
	by := map[Queue]Serving{}
	for _, w := range all {
		for _, q := range w.queues() {
			if w.Serves(q.Function, q.Class) {
				by[q] = Serving{by[q].Workers + 1, by[q].Free + w.Free()}
			}
		}
	}
	return by
}

// queues returns the queues that the worker names, each once.
func (w Worker) queues() []Queue {
	set := map[Queue]bool{}
	for _, f := range w.Functions {
		for _, class := range w.Classes {
			set[Queue{f, class}] = true
		}
	}
	return slices.SortedFunc(maps.Keys(set), Queue.Compare)
}

// Holders returns the workers by the attempts that they report to hold.
func Holders(all []Worker) map[string]Worker {
	by := map[string]Worker{}
	for _, w := range all {
		for _, job := range w.Jobs {
			if w.Presence != events.WorkerGone {
				by[job.Attempt] = w
			}
		}
	}
	return by
}
