package terminal

import (
	"bytes"
	"fmt"
	"strings"
	"testing"

	"github.com/stoker-ml/stoker/events"
	"github.com/stoker-ml/stoker/functions/module"
)

// training returns the reports of a short job, with one that has no phase.
func training() []events.Progress {
	metrics := map[string]float64{"loss": 0.25, "sparse_categorical_accuracy": 0.9, "sparse_categorical_crossentropy": 0.2}
	reports := []events.Progress{{Phase: "staging"}, {}}
	for step := 0; step <= 100; step += 10 {
		reports = append(reports, events.Progress{Phase: "training", Step: step, Steps: 100, Metrics: metrics})
	}
	last := reports[len(reports)-1]
	last.Metrics = map[string]float64{"loss": 0.125} // reported once more, with a last figure
	return append(reports, last, events.Progress{}, events.Progress{Phase: "publishing"})
}

func TestPlainProgressHasNoEmptyLines(t *testing.T) {
	t.Parallel()
	var out bytes.Buffer
	d := &lineDisplay{out: &out}
	for _, p := range training() {
		d.Progress(p)
	}
	lines := strings.Split(strings.TrimSuffix(out.String(), "\n"), "\n")
	if len(lines) != 13 { // staging, 11 of training, publishing
		t.Errorf("%d lines:\n%s", len(lines), out.String())
	}
	for _, line := range lines {
		if strings.TrimSpace(line) == "" {
			t.Errorf("an empty line in\n%s", out.String())
		}
	}
}

func TestPlainProgressOfASearchIsNotThatOfItsTrials(t *testing.T) {
	t.Parallel()
	var out bytes.Buffer
	d := &lineDisplay{out: &out}
	for trial := range 30 {
		d.Progress(events.Progress{Phase: "tuning", Step: trial, Steps: 30})
		for step := range 10 {
			d.Progress(events.Progress{Phase: fmt.Sprintf("trial %04d", trial), Step: step, Steps: 10})
		}
	}
	if lines := strings.Count(out.String(), "\n"); lines < 10 || lines > 15 {
		t.Errorf("%d lines:\n%s", lines, out.String())
	}
	out.Reset()
	for step := range 30 {
		d.Progress(events.Progress{Phase: "rungs", Step: step})
	}
	if out.String() != "rungs\nrungs      step 10\nrungs      step 20\n" {
		t.Error(out.String())
	}
}

func TestABarStaysOnItsLineAndIsDrawnToItsEnd(t *testing.T) {
	t.Parallel()
	for _, width := range []int{30, 40, 60, 200} {
		var out bytes.Buffer
		d := &barDisplay{out: &out, width: width}
		for _, p := range training() {
			d.Progress(p)
		}
		d.Close()
		lines := strings.Split(strings.TrimSuffix(out.String(), "\n"), "\n")
		if len(lines) != 3 { // staging, the bar, publishing
			t.Fatalf("%d lines: %q", len(lines), lines)
		}
		for _, drawn := range strings.Split(lines[1], "\r") {
			if len([]rune(drawn)) >= width {
				t.Errorf("%d of %d columns: %q", len([]rune(drawn)), width, drawn)
			}
			if strings.Contains(drawn, "[") {
				t.Errorf("times in %q", drawn)
			}
		}
		if !strings.Contains(lines[1], "training") || !strings.Contains(lines[1], "(100/100)") {
			t.Errorf("of %d columns the bar is %q", width, lines[1])
		}
	}
}

func TestOnlyProgressIsShownAsProgress(t *testing.T) {
	t.Parallel()
	if _, ok := ProgressOf(module.Message{Type: "checkpoint", Phase: "training"}); ok {
		t.Error("a checkpoint is shown as progress")
	}
	if p, ok := ProgressOf(module.Message{Type: module.MessageProgress, Phase: "training", Step: 3, Steps: 9}); !ok || p.Step != 3 || p.Steps != 9 {
		t.Errorf("progress came out as %+v, %t", p, ok)
	}
}

func TestTrialsAreShownOnTheBarOfTheirSearch(t *testing.T) {
	t.Parallel()
	var out bytes.Buffer
	d := &barDisplay{out: &out, width: 100}
	for step := range 20 {
		d.Progress(events.Progress{Phase: "tuning", Step: step / 10, Steps: 2, Metrics: map[string]float64{"best loss": 0.5}})
		d.Progress(events.Progress{Phase: fmt.Sprintf("trial %04d", step%2), Step: step, Steps: 20})
	}
	d.Progress(events.Progress{Phase: "publishing"})
	if lines := strings.Count(out.String(), "\n"); lines != 2 || !strings.Contains(out.String(), "best loss 0.5  trial 0001 19/20") {
		t.Errorf("%d lines: %q", lines, out.String())
	}
	if after := out.String()[strings.LastIndex(out.String(), "publishing"):]; after != "publishing\n" {
		t.Errorf("%q", after)
	}
}
