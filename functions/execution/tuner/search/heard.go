package search

import (
	"path/filepath"
	"sync"

	"github.com/stoker-ml/stoker/compute/tune"
	"github.com/stoker-ml/stoker/compute/tune/suggest"
	"github.com/stoker-ml/stoker/functions/guest"
	"github.com/stoker-ml/stoker/functions/module"
)

// Heard is a trial as its process tells of it. End may be called from another goroutine.
type Heard struct {
	trial  string
	stop   string // the path where a file ends it
	curves Curves

	mu      sync.Mutex
	step    int
	stopped int  // the step at which it was told to end; 0: it was not
	over    bool // the study has no use for it any more
}

// NewHeard begins with the curves that a trial goes on with. A file at stop has its process end it.
func NewHeard(trial, stop string, curves Curves) *Heard {
	return &Heard{trial: trial, stop: stop, curves: curves}
}

// Trial is its name.
func (h *Heard) Trial() string { return h.trial }

// Curves are what it has reported.
func (h *Heard) Curves() Curves { return h.curves }

// Over says whether the study has no use for it any more.
func (h *Heard) Over() bool {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.over
}

// Hear takes a report, and has the trial end early if that is what the study's rule says, or its goal is reached.
func (h *Heard) Hear(study tune.Study, m module.Message) {
	h.curves.Add(study.Config.Objectives, m.Step, m.Metrics)
	h.mu.Lock()
	h.step = m.Step
	h.mu.Unlock()
	if Early(study, h.trial, h.curves) {
		h.End(false)
	}
}

// Early says whether a trial is to end early with the curves that it has: by the study's rule, or because its goal is reached.
func Early(study tune.Study, trial string, curves Curves) bool {
	t := study.Trial(trial)
	if t == nil {
		return false
	}
	curve := curves[study.Config.Objectives[0].Name]
	if len(curve) == 0 {
		return false
	}
	return reached(study.Config, curve[len(curve)-1].Value) || suggest.Stop(&study, t, curve)
}

func reached(c tune.Config, value float64) bool {
	return c.Goal != nil && len(c.Constraints) == 0 && !c.Objectives[0].Direction.Better(*c.Goal, value)
}

// End asks the module to end the trial with what it has; over says that the study has no use for it any more.
func (h *Heard) End(over bool) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.over = h.over || over
	if h.stopped == 0 {
		h.stopped = max(1, h.step)
		folder := filepath.Dir(h.stop)
		_ = guest.WriteInFolder(filepath.Dir(folder), folder, filepath.Base(h.stop), nil) // a module that is not stopped only takes longer
	}
}

// Ended is how the try ended that has come to its metrics. One that the study's end cut off before it had any came to nothing.
func (h *Heard) Ended(study tune.Study, metrics map[string]float64) tune.Ended {
	h.mu.Lock()
	defer h.mu.Unlock()
	stopped := h.stopped
	if stopped > 0 { // it may have gone on for a while before it saw that
		stopped = max(stopped, h.step)
	}
	ended := Completed(study, h.trial, h.curves, metrics, stopped)
	if h.over && ended.Status == tune.Failed {
		ended.Status, ended.Message = tune.Invalid, "the study ended"
	}
	return ended
}
