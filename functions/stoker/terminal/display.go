package terminal

import (
	"fmt"
	"io"
	"strings"
	"time"

	"github.com/stoker-ml/stoker/events"
	"github.com/stoker-ml/stoker/functions/module"
	"github.com/stoker-ml/stoker/functions/runs"
)

// Display displays a job's progress: a bar on a terminal, plain lines elsewhere. A report without a
// phase is ignored.
type Display interface {
	Progress(p events.Progress)
	Close() // ends the line of the bar
}

// NewDisplay returns a display on out: a bar if that is a terminal.
func NewDisplay(out *Stream) Display {
	if width, _, ok := out.Size(); ok {
		return &barDisplay{out: out.drawing(), width: width}
	}
	return &lineDisplay{out: out}
}

// NoDisplay displays nothing.
type NoDisplay struct{}

// Progress does nothing.
func (NoDisplay) Progress(events.Progress) {}

// Close does nothing.
func (NoDisplay) Close() {}

// ProgressOf returns the progress in a module's message; false if it has none.
func ProgressOf(m module.Message) (events.Progress, bool) {
	p := events.Progress{Phase: m.Phase, Step: m.Step, Steps: m.Steps, Metrics: m.Metrics}
	return p, m.Type == module.MessageProgress
}

// lineDisplay prints one line for each new phase, and about ten lines of steps. For the trials of a
// search, of which hundreds may run, it prints a line from time to time.
type lineDisplay struct {
	out   io.Writer
	phase string
	// Tenths of the steps that have been shown; tens if the number of steps is unknown.
	shown int
	trial time.Time // when a trial was shown
}

// TrialPhase begins the phase in reports of a search's trial; the trial's id is the rest.
const TrialPhase = "trial "

// trialShown is how often a line of a trial is printed.
const trialShown = 5 * time.Second

func (d *lineDisplay) Progress(p events.Progress) {
	tenth := p.Step / 10
	if p.Steps > 0 {
		tenth = 10 * p.Step / p.Steps
	}
	switch ofTrial := strings.HasPrefix(p.Phase, TrialPhase); {
	case p.Phase == "", !ofTrial && p.Phase == d.phase && tenth <= d.shown:
		return
	case ofTrial && time.Since(d.trial) < trialShown:
		return
	case ofTrial:
		d.trial = time.Now()
	default:
		d.phase, d.shown = p.Phase, tenth
	}
	fmt.Fprintln(d.out, Line(strings.TrimSpace(fmt.Sprintf("%-10s %s %s", p.Phase, runs.Step(p), runs.Metrics(p.Metrics)))))
}

func (d *lineDisplay) Close() {}
