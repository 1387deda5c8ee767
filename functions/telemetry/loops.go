package telemetry

import (
	"fmt"
	"sync"
	"time"
)

// loops knows what is to end by when: a look at a queue, the handling of a fact, the work on a job that was lost. What is overdue hangs,
// and would never end. It knows nothing of work that takes as long as it takes: a lease watches over that.
type loops struct {
	now func() time.Time

	mu    sync.Mutex
	last  uint64
	going map[uint64]turn
}

type turn struct {
	what string
	by   time.Time
}

func newLoops(now func() time.Time) *loops { return &loops{now: now, going: map[uint64]turn{}} }

// slack is what anything may take longer than it promised before it counts as hanging.
const slack = time.Minute

// begin notes that something begins that promises to end within a time. ended must be called.
func (l *loops) begin(what string, within time.Duration) (ended func()) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.last++
	id := l.last
	l.going[id] = turn{what, l.now().Add(within + slack)}
	return func() {
		l.mu.Lock()
		defer l.mu.Unlock()
		delete(l.going, id)
	}
}

// hanging says what is overdue; nil if nothing is.
func (l *loops) hanging() error {
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, t := range l.going {
		if late := l.now().Sub(t.by); late > 0 {
			return fmt.Errorf("%s hangs: it should have ended %s ago", t.what, (late + slack).Round(time.Second))
		}
	}
	return nil
}
