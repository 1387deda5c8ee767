package telemetry

import (
	"fmt"
	"sync"
	"time"
)

// loops records by when each bounded operation must end: a request to a queue, the handling of an
// event, the work on a job whose lease was lost. An operation that is overdue hangs, and would
// never end. Work without a bound is not recorded: its lease bounds it.
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

// slack is how much longer than its bound an operation may take before it counts as hanging.
const slack = time.Minute

// begin records that an operation begins that must end within a time. ended must be called.
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

// hanging returns an error that names an overdue operation; nil if there is none.
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
