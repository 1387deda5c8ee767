package main

import (
	"context"
	"fmt"
	"sync"
	"time"

	"github.com/stoker-ml/stoker/events"
)

// counted is a bus that notes which jobs were offered.
type counted struct {
	events.Bus
	offered *tally // nil: nobody asks
}

func (c counted) Enqueue(ctx context.Context, job events.Job) error {
	err := c.Bus.Enqueue(ctx, job)
	if err == nil && c.offered != nil {
		c.offered.note(job.ID)
	}
	return err
}

// tally counts different names until there are enough.
type tally struct {
	want int
	all  chan struct{} // closed when they are there

	mu   sync.Mutex
	seen map[string]bool
	last time.Time // when the last one came; to be read once all is closed
}

func newTally(want int) *tally {
	return &tally{want: want, seen: map[string]bool{}, all: make(chan struct{})}
}

func (t *tally) note(name string) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.seen[name] || len(t.seen) == t.want {
		return
	}
	t.seen[name] = true
	if t.last = time.Now(); len(t.seen) == t.want {
		close(t.all)
	}
}

func (t *tally) wait(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	select {
	case <-t.all:
		return nil
	case <-ctx.Done():
		t.mu.Lock()
		defer t.mu.Unlock()
		return fmt.Errorf("%d of %d jobs: %w", len(t.seen), t.want, context.Cause(ctx))
	}
}
