package runner

import (
	"context"
	"errors"
	"path/filepath"
	"strconv"
	"sync/atomic"
	"time"

	"github.com/stoker-ml/stoker/functions/module"
	"github.com/stoker-ml/stoker/functions/runner/process"
)

// memoryPeriod is how often a module's memory is measured. A module that outgrows the machine
// within one period is ended by the kernel, as is one in a cgroup.
const memoryPeriod = 100 * time.Millisecond

// memoryWatch enforces a module's memory limit. In a cgroup it checks whether the kernel had to
// kill a process, and whether the limit is still set; otherwise it adds up the resident memory of
// the process group.
type memoryWatch struct {
	process *process.Process
	limit   int64 // bytes; 0: no limit, and nothing to watch
	// Bytes of resident memory, if that was measured; read it only after watch has returned.
	peak int64
}

// watch runs until over is closed, or until the module exceeds its limit: then it aborts with
// errMemory.
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

// used returns how much memory the module used, for the error.
func (w *memoryWatch) used() string {
	if cgroup := w.process.Cgroup; cgroup != nil {
		did := "requested more"
		if cgroup.Lifted() {
			did = "changed its limit"
		}
		return bytesText(cgroup.PeakBytes()) + " of memory and " + did
	}
	return bytesText(w.peak) + " of memory"
}

// errStuck is the cause with which a forked child without a sign of life is ended.
var errStuck = errors.New("no sign of life after the fork")

// stuckShare: less than one part in so many of a period of CPU time (a quarter of a second in a
// minute) is no sign of life, because threads poll now and then.
const stuckShare = 240

// stuckWatch detects children that hang because the fork has lost threads that TensorFlow waits
// for. They use no CPU, print nothing and report nothing. A process that has reported once has its
// threads, and may wait as long as it likes.
type stuckWatch struct {
	process *process.Process
	log     *boundedLog
	after   time.Duration // 0: not watched
	heard   atomic.Bool
}

// hear returns a function that notes a message and passes it on.
func (w *stuckWatch) hear(on func(module.Message)) func(module.Message) {
	return func(m module.Message) {
		w.heard.Store(true)
		if on != nil {
			on(m)
		}
	}
}

// watch runs until over is closed, until the first message, or until the process seems to hang:
// then it aborts with errStuck.
func (w *stuckWatch) watch(over <-chan struct{}, abort context.CancelCauseFunc) {
	if w.after <= 0 {
		return
	}
	ticker := time.NewTicker(w.after / 10)
	defer ticker.Stop()
	seen, lived := w.signs(), time.Now()
	for {
		select {
		case <-over:
			return
		case <-ticker.C:
		}
		now := w.signs()
		switch {
		case w.heard.Load():
			return
		case now.printed != seen.printed || now.cpu > seen.cpu+w.after/stuckShare:
			seen, lived = now, time.Now()
		case time.Since(lived) >= w.after:
			abort(errStuck)
			return
		}
	}
}

// signs of life.
type signs struct {
	cpu     time.Duration
	printed int64 // bytes
}

func (w *stuckWatch) signs() signs {
	return signs{cpu: w.process.GroupCPU(), printed: w.log.total()}
}

// takenFile is a file in the home of a process with the number of its checkpoints of everything
// (module.Message.All) that the worker has saved. The driver of TFX modules waits for it, so that
// no training writes to files while they are copied.
const takenFile = ".stoker-taken"

// countCheckpoints returns a function that calls on, and then counts in takenFile.
func countCheckpoints(home string, on func(module.Message)) func(module.Message) {
	count := 0
	return func(m module.Message) {
		if on != nil {
			on(m)
		}
		if m.Type == module.MessageCheckpoint && m.All {
			count++
			// A driver that can't read the file resumes after a while.
			_ = WriteInFolder(filepath.Dir(home), home, takenFile, []byte(strconv.Itoa(count)+"\n"))
		}
	}
}
