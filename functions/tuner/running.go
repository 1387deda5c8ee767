package tuner

import (
	"context"
	"os"
	"sync"

	"github.com/stoker-ml/stoker/compute/tune"
	"github.com/stoker-ml/stoker/compute/tune/suggest"
	"github.com/stoker-ml/stoker/events"
	"github.com/stoker-ml/stoker/functions/module"
)

// running is a trial as its process tells of it.
type running struct {
	seat   *seat
	trial  string
	stop   string // the path where a file ends it
	curves curves

	mu      sync.Mutex
	step    int
	stopped int  // the step at which it was told to end; 0: it was not
	over    bool // the study has no use for it any more
}

// heard takes a report, and has the trial end early if that is what the study's rule says, or its goal is reached.
func (r *running) heard(m module.Message) {
	study := r.seat.Now()
	r.curves.add(study.Config.Objectives, m.Step, m.Metrics)
	r.seat.task.Report(events.Progress{Phase: "trial " + r.trial, Step: m.Step, Steps: m.Steps, Metrics: m.Metrics})
	r.mu.Lock()
	r.step = m.Step
	r.mu.Unlock()
	if early(study, r.trial, r.curves) {
		r.end(false)
	}
}

// early says whether a trial is to end early with the curves that it has: by the study's rule, or because its goal is reached.
func early(study tune.Study, trial string, curves curves) bool {
	curve := curves[study.Config.Objectives[0].Name]
	t := study.Trial(trial)
	if t == nil || len(curve) == 0 {
		return false
	}
	return reached(study.Config, curve[len(curve)-1].Value) || suggest.Stop(&study, t, curve)
}

func reached(c tune.Config, value float64) bool {
	return c.Goal != nil && len(c.Constraints) == 0 && !c.Objectives[0].Direction.Better(*c.Goal, value)
}

// end asks the module to end the trial with what it has.
func (r *running) end(over bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.over = r.over || over
	if r.stopped == 0 {
		r.stopped = max(1, r.step)
		_ = os.WriteFile(r.stop, nil, 0o600) // a module that is not stopped only takes longer
	}
}

// watch ends the trial when the study has no use for it any more, and makes it end if it doesn't in time.
func (r *running) watch(ctx context.Context, kill func()) {
	lost := func(study tune.Study) bool { return !holds(study, r.seat.me, r.trial) }
	if r.seat.Over(ctx, lost) {
		r.end(true)
		grace(ctx, r.seat.Log)
		kill()
	}
}

// ended is how the try ended that has come to its metrics. One that the study's end cut off before it had any came to nothing.
func (r *running) ended(metrics map[string]float64) tune.Ended {
	ended := completed(r.seat.Now(), r.trial, r.curves, metrics, r.stopped)
	if r.over && ended.Status == tune.Failed {
		ended.Status, ended.Message = tune.Invalid, "the study ended"
	}
	return ended
}
