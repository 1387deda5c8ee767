package terminal

import (
	"fmt"
	"io"
	"strings"
	"unicode/utf8"

	"github.com/stoker-ml/stoker/events"
	"github.com/stoker-ml/stoker/functions/runs"
)

// barDisplay draws a bar for phases with steps, one line each. The trials of a search, of which
// many may run at once, have no bars: the search's bar names the trial that reported last.
type barDisplay struct {
	out   io.Writer
	width int // of the terminal, in columns
	phase string
	line  int             // characters of the bar's line; 0: there is no bar
	drawn events.Progress // the state of the bar
	trial string
}

func (d *barDisplay) Progress(p events.Progress) {
	if p.Phase == "" {
		return
	}
	if strings.HasPrefix(p.Phase, TrialPhase) {
		d.ofTrial(p)
		return
	}
	if p.Phase != d.phase {
		d.Close()
		d.phase = p.Phase
		if p.Steps == 0 {
			fmt.Fprintln(d.out, Line(p.Phase))
		}
	}
	if p.Steps > 0 {
		d.draw(p)
	}
}

// ofTrial shows a trial on the bar of its search; if its length is unknown it has only a line.
func (d *barDisplay) ofTrial(p events.Progress) {
	d.trial = p.Phase
	if p.Steps > 0 {
		d.trial = fmt.Sprintf("%s %d/%d", p.Phase, p.Step, p.Steps)
	}
	if d.line > 0 {
		d.draw(d.drawn)
	}
}

const (
	barWidth    = 20 // columns
	describedIn = 24 // minimum columns for the phase and a metric: the bar shrinks for them
)

// barIn returns the width of a bar on a terminal: the standard one if it fits, else what the text
// leaves of the line.
func (d *barDisplay) barIn(steps int) int {
	return min(barWidth, max(0, d.width-describedIn-figuresIn(steps)))
}

// figuresIn returns the width of the figures after a bar.
func figuresIn(steps int) int { return len(fmt.Sprintf(" 100%% || (%d/%d) ", steps, steps)) }

// draw draws the line over the one before.
func (d *barDisplay) draw(p events.Progress) {
	d.drawn = p
	step, wide := min(max(p.Step, 0), p.Steps), d.barIn(p.Steps)
	filled := wide * step / p.Steps
	line := fmt.Sprintf("%s %3d%% |%s%s| (%d/%d) ", d.describe(p), 100*step/p.Steps, strings.Repeat("█", filled),
		strings.Repeat(" ", wide-filled), step, p.Steps)
	length := utf8.RuneCountInString(line)
	fmt.Fprint(d.out, "\r", line, strings.Repeat(" ", max(0, d.line-length)))
	d.line = length
}

// describe returns the phase and its metrics, truncated to what the bar leaves of the line: a line
// that wraps can't be redrawn.
func (d *barDisplay) describe(p events.Progress) string {
	text := []rune(Line(strings.TrimRight(fmt.Sprintf("%-10s %s  %s", p.Phase, runs.Metrics(p.Metrics), d.trial), " ")))
	return string(text[:min(len(text), max(d.width-d.barIn(p.Steps)-figuresIn(p.Steps)-1, 0))])
}

func (d *barDisplay) Close() {
	d.trial = ""
	if d.line > 0 {
		fmt.Fprintln(d.out)
		d.line = 0
	}
}
