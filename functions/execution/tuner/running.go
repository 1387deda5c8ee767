package tuner

import (
	"context"

	"github.com/stoker-ml/stoker/compute/tune"
	"github.com/stoker-ml/stoker/events"
	"github.com/stoker-ml/stoker/functions/execution/tuner/search"
	"github.com/stoker-ml/stoker/functions/module"
)

// running is a trial in a seat's process.
type running struct {
	seat *seat
	*search.Heard
}

// heard takes a report.
func (r *running) heard(m module.Message) {
	r.seat.task.Report(events.Progress{Phase: "trial " + r.Trial(), Step: m.Step, Steps: m.Steps, Metrics: m.Metrics})
	r.Hear(r.seat.Now(), m)
}

// watch ends the trial when the study has no use for it any more, and makes it end if it doesn't in time.
func (r *running) watch(ctx context.Context, kill func()) {
	lost := func(study tune.Study) bool { return !search.Holds(study, r.seat.me, r.Trial()) }
	if r.seat.Over(ctx, lost) {
		r.End(true)
		grace(ctx, r.seat.Log)
		kill()
	}
}
