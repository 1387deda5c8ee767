// Package overview computes what the console's first page shows of runs: those that are active,
// what waits for workers, and what the last 24 hours brought. A Cache keeps that for all readers,
// so that the index is read once for each change, and not for each request. Read Overview first.
package overview

import (
	"cmp"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/stoker-ml/stoker/functions/runs"
	"github.com/stoker-ml/stoker/functions/runs/workers"
)

// Hours is the number of hours that an Overview covers, the present one included.
const Hours = 24

// MaxActive is the number of active runs that are listed.
const MaxActive = 12

// Overview is what the first page shows of runs.
type Overview struct {
	States map[string]int // runs by state
	// Runs that a worker executes or searches for, the last one to begin first; at most MaxActive.
	Active   []runs.Summary
	Queued   []Queued
	Since    time.Time   // when the first of Hours begins
	Hours    [Hours]Hour // the oldest first
	Trained  int         // since Since
	Failed   int         // since Since; runs that have expired count
	Failures []Failure   // the most frequent first; at most MaxFailures
	Others   int         // failed runs of the failures that are not listed
}

// Queued is the number of runs whose job waits for a worker.
type Queued struct {
	workers.Queue
	Runs   int
	Oldest time.Time // when the last event of the run arrived that waits the longest
}

// Hour is the number of runs that ended in an hour.
type Hour struct {
	Begins          time.Time
	Trained, Failed int
}

// Of computes the overview of an index.
func Of(x *runs.Index, now time.Time) Overview { return of(x, now, reasons{}) }

func of(x *runs.Index, now time.Time, known reasons) Overview {
	o := Overview{States: map[string]int{}, Since: sinceOf(now)}
	for i := range o.Hours {
		o.Hours[i].Begins = o.Since.Add(time.Duration(i) * time.Hour)
	}
	failures := failures{known, map[[2]string]*Failure{}}
	for one := range x.States() {
		o.States[one.State]++
		switch one.State {
		case runs.Running, runs.Tuning:
			o.Active = append(o.Active, one)
		case runs.Queued:
			j, _, _ := x.JoinOf(one.Key())
			o.queue(workers.Queue{Function: j.Current().Function, Class: one.Class}, one.Updated)
		case runs.Trained:
			o.ended(one, func(h *Hour) { h.Trained++; o.Trained++ })
		case runs.Failed, runs.Expired:
			o.ended(one, func(h *Hour) { h.Failed++; o.Failed++; failures.add(one) })
		}
	}
	o.Failures, o.Others = failures.most(o.Since)
	slices.SortFunc(o.Active, func(a, b runs.Summary) int {
		return cmp.Or(b.Started.Compare(a.Started), strings.Compare(a.Pipeline, b.Pipeline), strings.Compare(a.Run, b.Run))
	})
	o.Active = o.Active[:min(len(o.Active), MaxActive)]
	slices.SortFunc(o.Queued, func(a, b Queued) int { return a.Compare(b.Queue) })
	return o
}

// sinceOf returns when the first of the last hours began.
func sinceOf(now time.Time) time.Time {
	return now.UTC().Truncate(time.Hour).Add(-(Hours - 1) * time.Hour)
}

// queue counts a run whose job waits.
func (o *Overview) queue(q workers.Queue, since time.Time) {
	at := slices.IndexFunc(o.Queued, func(other Queued) bool { return other.Queue == q })
	if at < 0 {
		at = len(o.Queued)
		o.Queued = append(o.Queued, Queued{Queue: q, Oldest: since})
	}
	o.Queued[at].Runs++
	if since.Before(o.Queued[at].Oldest) {
		o.Queued[at].Oldest = since
	}
}

// ended calls count with the hour in which a run ended, if that is one of the last ones. The clock
// of the bus may be ahead of ours.
func (o *Overview) ended(one runs.Summary, count func(*Hour)) {
	if one.Updated.Before(o.Since) {
		return
	}
	count(&o.Hours[min(int(one.Updated.Sub(o.Since)/time.Hour), Hours-1)])
}

// Cache keeps the last overview. It is safe for concurrent use.
type Cache struct {
	fresh time.Duration

	mu      sync.Mutex // one goroutine computes it at a time
	last    Overview
	version uint64
	at      time.Time
	reasons reasons
}

// NewCache returns a Cache whose overview is at most so old while the index changes.
func NewCache(fresh time.Duration) *Cache { return &Cache{fresh: fresh, reasons: reasons{}} }

// Read returns the overview of the index of w.
func (c *Cache) Read(w *runs.Watch, now time.Time) Overview {
	c.mu.Lock()
	defer c.mu.Unlock()
	version := w.Version()
	age := now.Sub(c.at)
	same := version == c.version && c.last.Since.Equal(sinceOf(now))
	if !c.at.IsZero() && (same || age >= 0 && age < c.fresh) {
		return c.last
	}
	w.View(func(x *runs.Index) { c.last = of(x, now, c.reasons) })
	c.version, c.at = version, now
	return c.last
}
