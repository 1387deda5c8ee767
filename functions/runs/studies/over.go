package studies

import (
	"context"
	"math"
	"time"

	"github.com/stoker-ml/stoker/compute/tune"
)

// timeLook is how often a waiter reads the bus's time, which may have become known more exactly.
const timeLook = 5 * time.Second

// Over waits, and returns true when the study is over, by the log or by its time, or lost says so;
// false if ctx ends before.
func (l *Log) Over(ctx context.Context, lost func(tune.Study) bool) bool {
	for {
		study, changed := l.Watch()
		if study.Finished != nil || lost(study) {
			return true
		}
		left := time.Duration(math.MaxInt64)
		if at := study.OutOfTimeAt(); !at.IsZero() {
			left = at.Sub(l.Time())
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
