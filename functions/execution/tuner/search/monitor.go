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

// Monitor follows a trial through the messages of its process, and can end it early. End may be
// called from another goroutine.
type Monitor struct {
	trial  string
	stop   string // the path at which a file ends the trial
	curves Curves

	mu      sync.Mutex
	step    int
	stopped int  // the step at which it had to end; 0: it need not
	over    bool // the study no longer needs it
}

// NewMonitor begins with the curves that a trial resumes with. A file at stop makes the trial's
// process end it.
func NewMonitor(trial, stop string, curves Curves) *Monitor {
	return &Monitor{trial: trial, stop: stop, curves: curves}
}

// Trial returns the trial's name.
func (h *Monitor) Trial() string { return h.trial }

// Curves returns the curves reported so far.
func (h *Monitor) Curves() Curves { return h.curves }

// Over reports whether the study no longer needs the trial.
func (h *Monitor) Over() bool {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.over
}

// Observe handles a report, and ends the trial early if the study's rule says so or its goal is
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

// Early reports whether a trial is to end early with its present curves: by the study's rule, or
// because its goal is reached.
func Early(study tune.Study, trial string, curves Curves) bool {
	t := study.Trial(trial)
	if t == nil {
		return false
	}
	curve := curves[study.Config.Objectives[0].Name]
	if len(curve) == 0 {
		return false
	}
	return reached(study.Config, curve[len(curve)-1]) || suggest.Stop(&study, t, curve)
}

// reached reports whether a trial with this newest point is good enough; with validation only after
// its last fold.
func reached(c tune.Config, newest tune.Point) bool {
	return c.Goal != nil && len(c.Constraints) == 0 && newest.Step >= c.Folds() && !c.Objectives[0].Direction.Better(*c.Goal, newest.Value)
}

// End asks the module to end the trial with the result that it has; over says that the study no
// longer needs the trial.
func (h *Monitor) End(over bool) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.over = h.over || over
	if h.stopped == 0 {
		h.stopped = max(1, h.step)
		folder := filepath.Dir(h.stop)
		// If the module is not stopped, it only takes longer.
		_ = runner.WriteInFolder(filepath.Dir(folder), folder, filepath.Base(h.stop), nil)
	}
}

// Ended returns the end of a try that has these metrics. If the study's end cut it off before it
// had any, the try failed.
func (h *Monitor) Ended(study tune.Study, metrics map[string]float64) tune.Ended {
	h.mu.Lock()
	defer h.mu.Unlock()
	stopped := h.stopped
	if stopped > 0 { // it may have continued for a while before it noticed
		stopped = max(stopped, h.step)
	}
	ended := Completed(study, h.trial, h.curves, metrics, stopped)
	if h.over && ended.Status == tune.Failed {
		ended.Status, ended.Message = tune.Invalid, "the study ended"
	}
	return ended
}

// MaxMessage is how many bytes of the reason for a failure a log's entry holds.
const MaxMessage = 4 << 10

// Reason returns the reason for a try's failure, followed by the last output of its module: as many
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

// Beginning returns a text cut to a length, between characters.
func Beginning(text string, most int) string {
	return strings.ToValidUTF8(text[:min(len(text), most)], "")
}

// Failed returns the end of a try that failed, with the reason.
func Failed(trial, message string) tune.Ended {
	return tune.Ended{Trial: trial, Status: tune.Failed, Message: Beginning(message, MaxMessage)}
}
