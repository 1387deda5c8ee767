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

// Display shows a job's progress: a bar on a terminal, plain lines elsewhere. A report without a phase shows nothing.
type Display interface {
	Progress(p events.Progress)
	Close() // ends the line that is drawn
}

// NewDisplay shows progress on out: a bar where that is a terminal.
func NewDisplay(out *Stream) Display {
	if width, _, ok := out.Size(); ok {
		return &barDisplay{out: out.drawing(), width: width}
	}
	return &lineDisplay{out: out}
}

// NoDisplay shows nothing.
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

// lineDisplay prints one line for each new phase, and about ten lines of steps. Of the trials of a search, which may be hundreds
// and at once, it prints now and then how one gets on.
type lineDisplay struct {
	out   io.Writer
	phase string
	shown int       // tenths of the steps that have been shown; where nobody knows how many there are, tens
	trial time.Time // when a trial was shown
}

// TrialPhase begins the phase of what a trial of a search reports; the trial's id is the rest.
const TrialPhase = "trial "

// trialShown is how often a line is printed of a trial.
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
