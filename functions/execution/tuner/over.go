package tuner

import (
	"context"
	"time"

	"github.com/stoker-ml/stoker/compute/tune"
	"github.com/stoker-ml/stoker/functions/studies"
)

// stopTime is what a module has to end a trial that the study has no use for any more.
const stopTime = 30 * time.Second

// grace waits as long as a module has to end what is over: of a study that is cancelled nobody wants anything.
func grace(ctx context.Context, l *studies.Log) {
	if study := l.Now(); study.Finished != nil && study.Finished.Why == tune.Cancelled {
		return
	}
	timer := time.NewTimer(stopTime)
	defer timer.Stop()
	select {
	case <-ctx.Done():
	case <-timer.C:
	}
}
