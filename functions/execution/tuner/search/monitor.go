package search

import (
	"path/filepath"
	"strings"
	"sync"

	"github.com/stoker-ml/stoker/compute/tune"
	"github.com/stoker-ml/stoker/compute/tune/suggest"
	"github.com/stoker-ml/stoker/functions/module"
	"github.com/stoker-ml/stoker/functions/runner"
)

// Monitor follows a trial by the messages of its process, and ends it early. End may be called from
// another goroutine.
type Monitor struct {
	trial  string
	stop   string // the path where a file ends it
	curves Curves

	mu      sync.Mutex
	step    int
	stopped int  // the step at which it had to end; 0: it need not
	over    bool // the study has no use for it any more
}

// NewMonitor begins with the curves that a trial resumes with. A file at stop has its process end
// it.
func NewMonitor(trial, stop string, curves Curves) *Monitor {
	return &Monitor{trial: trial, stop: stop, curves: curves}
}

// Trial is its name.
func (h *Monitor) Trial() string { return h.trial }

// Curves are what it has reported.
func (h *Monitor) Curves() Curves { return h.curves }

// Over reports whether the study has no use for it any more.
func (h *Monitor) Over() bool {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.over
}

// Observe takes a report, and ends the trial early if the study's rule says so, or its goal is
// reached.
func (h *Monitor) Observe(study tune.Study, m module.Message) {
	h.curves.Add(study.Config.Objectives, m.Step, m.Metrics)
	h.mu.Lock()
	h.step = m.Step
	h.mu.Unlock()
	if Early(study, h.trial, h.curves) {
		h.End(false)
	}
}

// Early reports whether a trial is to end early with the curves that it has: by the study's rule,
// or because its goal is reached.
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

// End asks the module to end the trial with what it has; over says that the study has no use for it
// any more.
func (h *Monitor) End(over bool) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.over = h.over || over
	if h.stopped == 0 {
		h.stopped = max(1, h.step)
		folder := filepath.Dir(h.stop)
		_ = runner.WriteInFolder(filepath.Dir(folder), folder, filepath.Base(h.stop), nil) // a module that is not stopped only takes longer
	}
}

// Ended is how the try ended that has come to its metrics. One that the study's end cut off before
// it had any came to nothing.
func (h *Monitor) Ended(study tune.Study, metrics map[string]float64) tune.Ended {
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

// MaxMessage is what a log's entry holds of why a try failed, at most.
const MaxMessage = 4 << 10

// Reason is why a try failed, which comes first, and then what its module printed last: as many
// whole lines as fit.
func Reason(why, log string) string {
	why, log = Beginning(strings.TrimSpace(why), MaxMessage/2), strings.TrimSpace(log)
	if log == "" {
		return why
	}
	if space := MaxMessage - len(why) - len("\n"); len(log) > space {
		log = log[len(log)-space:]
		if _, whole, more := strings.Cut(log, "\n"); more {
			log = whole
		}
	}
	return why + "\n" + strings.ToValidUTF8(log, "")
}

// Beginning is a text up to a length, and of no character a part.
func Beginning(text string, most int) string {
	return strings.ToValidUTF8(text[:min(len(text), most)], "")
}

// Failed is the end of a try that failed, and why.
func Failed(trial, message string) tune.Ended {
	return tune.Ended{Trial: trial, Status: tune.Failed, Message: Beginning(message, MaxMessage)}
}
