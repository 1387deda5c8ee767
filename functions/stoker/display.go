package main

import (
	"fmt"
	"io"
	"maps"
	"os"
	"slices"
	"strings"

	"github.com/schollz/progressbar/v3"
	"golang.org/x/term"

	"github.com/stoker-ml/stoker/events"
)

// display shows a job's progress: a bar on a terminal, plain lines elsewhere.
type display interface {
	progress(p events.Progress)
	close()
}

// newDisplay shows progress on standard error.
func (a *app) newDisplay() display {
	if file, ok := a.stderr.(*os.File); ok && term.IsTerminal(int(file.Fd())) {
		return &barDisplay{out: a.stderr}
	}
	return &lineDisplay{out: a.stderr}
}

// lineDisplay prints one line for each new phase, and about ten lines of steps.
type lineDisplay struct {
	out   io.Writer
	phase string
	shown int // tenths of the steps that have been shown
}

func (d *lineDisplay) progress(p events.Progress) {
	tenth := 0
	if p.Steps > 0 {
		tenth = 10 * p.Step / p.Steps
	}
	if p.Phase == d.phase && tenth <= d.shown {
		return
	}
	d.phase, d.shown = p.Phase, tenth
	fmt.Fprintln(d.out, strings.TrimSpace(fmt.Sprintf("%-10s %s %s", p.Phase, stepOf(p), metricsLine(p.Metrics))))
}

func (d *lineDisplay) close() {}

// barDisplay draws a bar for the phases that have steps.
type barDisplay struct {
	out   io.Writer
	bar   *progressbar.ProgressBar
	phase string
}

func (d *barDisplay) progress(p events.Progress) {
	if p.Phase != d.phase {
		d.close()
		d.phase = p.Phase
		if p.Steps == 0 {
			fmt.Fprintf(d.out, "%s\n", p.Phase)
		}
	}
	if p.Steps == 0 {
		return
	}
	if d.bar == nil {
		d.bar = progressbar.NewOptions(p.Steps, progressbar.OptionSetWriter(d.out), progressbar.OptionShowCount(),
			progressbar.OptionSetWidth(30), progressbar.OptionFullWidth(), progressbar.OptionSetElapsedTime(false))
	}
	d.bar.Describe(fmt.Sprintf("%-10s %s", p.Phase, metricsLine(p.Metrics)))
	_ = d.bar.Set(p.Step) // a bar that can't be drawn is no reason to stop
}

func (d *barDisplay) close() {
	if d.bar != nil {
		_ = d.bar.Exit()
		fmt.Fprintln(d.out)
		d.bar = nil
	}
}

func stepOf(p events.Progress) string {
	if p.Steps == 0 {
		return ""
	}
	return fmt.Sprintf("step %d of %d ", p.Step, p.Steps)
}

// metricsLine lists metrics by name.
func metricsLine(metrics map[string]float64) string {
	var all []string
	for _, name := range slices.Sorted(maps.Keys(metrics)) {
		all = append(all, fmt.Sprintf("%s %.4g", name, metrics[name]))
	}
	return strings.Join(all, "  ")
}
