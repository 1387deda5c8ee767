package main

import (
	"fmt"
	"io"

	"github.com/schollz/progressbar/v3"

	"github.com/stoker-ml/stoker/events"
)

// barDisplay draws a bar for the phases that have steps, one line each.
type barDisplay struct {
	out   io.Writer
	width int // of the terminal, in columns
	bar   *progressbar.ProgressBar
	phase string
}

func (d *barDisplay) progress(p events.Progress) {
	if p.Phase == "" {
		return
	}
	if p.Phase != d.phase {
		d.close()
		d.phase = p.Phase
		if p.Steps == 0 {
			fmt.Fprintln(d.out, p.Phase)
		}
	}
	if p.Steps > 0 {
		d.draw(p)
	}
}

const barWidth = 20 // columns

func (d *barDisplay) draw(p events.Progress) {
	if d.bar == nil {
		d.bar = progressbar.NewOptions(p.Steps, progressbar.OptionSetWriter(d.out), progressbar.OptionSetWidth(barWidth),
			progressbar.OptionShowCount(), progressbar.OptionSetElapsedTime(false), progressbar.OptionSetPredictTime(false))
	}
	if p.Steps != d.bar.GetMax() {
		d.bar.ChangeMax(p.Steps)
	}
	d.bar.Describe(d.describe(p))
	_ = d.bar.Set(p.Step) // a bar that can't be drawn is no reason to stop
}

// describe names the phase and its metrics, cut to what the bar leaves of the line: one that wraps can't be drawn over.
func (d *barDisplay) describe(p events.Progress) string {
	bar := len(fmt.Sprintf(" 100%% || (%d/%d) ", p.Steps, p.Steps)) + barWidth
	text := fmt.Sprintf("%-10s %s", p.Phase, metricsLine(p.Metrics))
	return text[:min(len(text), max(d.width-bar-1, 0))]
}

func (d *barDisplay) close() {
	if d.bar != nil {
		_ = d.bar.Exit()
		fmt.Fprintln(d.out)
		d.bar = nil
	}
}
