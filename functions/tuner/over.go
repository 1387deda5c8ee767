package tuner

import (
	"context"
	"math"
	"time"

	"github.com/stoker-ml/stoker/compute/tune"
)

// stopTime is what a module has to end a trial that the study has no use for any more.
const stopTime = 30 * time.Second

// timeLook is how often a seat looks what time it is by the bus: it may know better than when it looked before.
const timeLook = 5 * time.Second

// untilOver returns true when the study is over, by the log or by its time, or lost says that it is for who asks; false if ctx ends before.
func (l *ledger) untilOver(ctx context.Context, lost func(tune.Study) bool) bool {
	for {
		study, changed := l.watch()
		if study.Finished != nil || lost(study) {
			return true
		}
		left := time.Duration(math.MaxInt64)
		if at := study.OutOfTimeAt(); !at.IsZero() {
			left = at.Sub(l.time())
		}
		if left <= 0 {
			return true
		}
		timer := time.NewTimer(min(left, timeLook))
		select {
		case <-ctx.Done():
			timer.Stop()
			return false
		case <-changed:
			timer.Stop()
		case <-timer.C:
		}
	}
}

// grace waits as long as a module has to end what is over: of a study that is cancelled nobody wants anything.
func (l *ledger) grace(ctx context.Context) {
	if study := l.now(); study.Finished == nil || study.Finished.Why != tune.Cancelled {
		rest(ctx, stopTime)
	}
}
