package runner

import (
	"context"
	"errors"
	"sync/atomic"
	"time"

	"github.com/stoker-ml/stoker/functions/module"
	"github.com/stoker-ml/stoker/functions/runner/process"
)

// errStuck is the cause with which a forked child is ended that shows no life.
var errStuck = errors.New("no sign of life after the fork")

// stuckShare of a period of watching, a quarter of a second in a minute, may be used of a processor without being a sign of life:
// threads look for something now and then.
const stuckShare = 240

// stuckWatch looks for children that hang because of what their fork cost them: threads that TensorFlow waits for. They use no
// processor, print nothing and report nothing. What has reported once has its threads, and may wait as long as it likes.
type stuckWatch struct {
	process *process.Process
	log     *boundedLog
	after   time.Duration // 0: not watched
	heard   atomic.Bool
}

// hear passes messages on.
func (w *stuckWatch) hear(on func(module.Message)) func(module.Message) {
	return func(m module.Message) {
		w.heard.Store(true)
		if on != nil {
			on(m)
		}
	}
}

// watch looks until over is closed, the first message has come, or the process seems to hang: then it aborts with errStuck.
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
