package runner

import (
	"context"
	"time"

	"github.com/stoker-ml/stoker/functions/runner/process"
)

// memoryPeriod is how often a module's memory is looked at. What outgrows the machine in one period is the kernel's to end, as is
// whatever runs in a cgroup.
const memoryPeriod = 100 * time.Millisecond

// memoryWatch sees whether a module keeps to its memory limit: in a cgroup, whether the kernel had to kill for it, and whether the limit is
// still there; else by adding up the resident memory of its process group.
type memoryWatch struct {
	process *process.Process
	limit   int64 // bytes; 0: no limit, and nothing to watch
	peak    int64 // bytes of resident memory, where that was looked at; to be read when watch has returned
}

// watch looks until over is closed, or the module is over its limit: then it aborts with errMemory.
func (w *memoryWatch) watch(over <-chan struct{}, abort context.CancelCauseFunc) {
	if w.limit <= 0 {
		return
	}
	ticker := time.NewTicker(memoryPeriod)
	defer ticker.Stop()
	for {
		select {
		case <-over:
			return
		case <-ticker.C:
		}
		if w.exceeded() {
			abort(errMemory)
			return
		}
	}
}

func (w *memoryWatch) exceeded() bool {
	if w.limit <= 0 {
		return false
	}
	if cgroup := w.process.Cgroup; cgroup != nil {
		return cgroup.Exceeded()
	}
	w.peak = max(w.peak, w.process.GroupMemoryBytes())
	return w.peak > w.limit
}

// used is the text of how much it was when the limit was exceeded.
func (w *memoryWatch) used() string {
	if cgroup := w.process.Cgroup; cgroup != nil {
		did := "asked for more"
		if cgroup.Lifted() {
			did = "lifted its limit"
		}
		return bytesText(cgroup.PeakBytes()) + " of memory and " + did
	}
	return bytesText(w.peak) + " of memory"
}
