package guest

import (
	"context"
	"time"
)

// memoryPeriod is how often a group's memory is looked at. What grows faster than a machine's memory in one period is the
// kernel's to end.
const memoryPeriod = 100 * time.Millisecond

// memoryWatch compares the resident memory of a process group with its limit.
type memoryWatch struct {
	group int
	limit int64 // bytes; 0: no limit, and nothing to watch
	peak  int64 // bytes; to be read when watch has returned
}

// watch looks until exited is closed, or the group is over its limit: then it aborts with errMemory.
func (w *memoryWatch) watch(exited <-chan struct{}, abort context.CancelCauseFunc) {
	if w.limit <= 0 {
		return
	}
	ticker := time.NewTicker(memoryPeriod)
	defer ticker.Stop()
	for {
		select {
		case <-exited:
			return
		case <-ticker.C:
		}
		w.peak = max(w.peak, groupRSS(w.group))
		if w.peak > w.limit {
			abort(errMemory)
			return
		}
	}
}
