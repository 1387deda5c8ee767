package chaos

import (
	"context"
	"strings"
	"testing"
	"time"
)

const (
	awayLeases     = 12 // for how many leases the store is away
	awayDeliveries = 4  // and for how many deliveries at the least
)

// If the store is unavailable for many leases and many deliveries, a job only takes longer.
func TestAStoreMayBeAwayForLong(t *testing.T) {
	t.Parallel()
	w := newWorld(t, newPlan(t, 1), time.Second)
	up := newUpstream(w, 1)
	w.proxy.leave(true)
	w.add(roleDispatcher, never)
	worker := w.add(roleWorker, never)
	for _, event := range up.runs[0].events {
		w.must(publish(t.Context(), w.bus, event))
	}
	began := time.Now()
	w.eventually(2*time.Minute, func(ctx context.Context) string {
		if time.Since(began) < awayLeases*w.lease || strings.Count(w.logOf(worker), `msg="job claimed"`) < awayDeliveries {
			return "the store has not been away for long enough"
		}
		o, err := w.outcome(ctx)
		if err == nil && (o.jobs != 1 || len(o.dead)+len(o.failed) > 0) {
			t.Fatalf("while the store is away: %d jobs, %d dead letters, failures %v", o.jobs, len(o.dead), o.failed)
		}
		return ""
	})
	w.proxy.leave(false)
	o := w.settled(2*time.Minute, up.runs)
	for _, fault := range w.audit(t.Context(), o, up.runs, nil) {
		t.Error(fault)
	}
}

// settled waits until every run has its model and no job is left.
func (w *world) settled(within time.Duration, runs []run) (o outcome) {
	w.t.Helper()
	w.eventually(within, func(ctx context.Context) (missing string) {
		var err error
		if o, err = w.outcome(ctx); err != nil {
			return err.Error()
		}
		return o.missing(runs, nil)
	})
	return o
}
