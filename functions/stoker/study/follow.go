package study

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"strings"
	"sync"
	"text/tabwriter"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/stoker-ml/stoker/compute/tune"
	"github.com/stoker-ml/stoker/events"
	"github.com/stoker-ml/stoker/functions/runs/studies"
	"github.com/stoker-ml/stoker/functions/stoker/app"
	"github.com/stoker-ml/stoker/functions/stoker/exit"
	"github.com/stoker-ml/stoker/functions/stoker/terminal"
)

// studyView shows a study as it changes, and once more when it has ended.
type studyView interface {
	show(d studyDetail)
	end(d studyDetail) error
}

func newStudyView(a *app.App) studyView {
	_, _, drawable := a.Stdout.Size()
	switch {
	case a.ForPrograms():
		return quietStudy{a}
	case drawable:
		return &liveStudy{out: a.Stdout, size: a.Stdout.Size}
	}
	return &studyLines{out: a.Stdout, shown: map[string]bool{}}
}

// redrawn is how often a table is drawn while trials report steps.
const redrawn = 200 * time.Millisecond

// followStudy shows a study until it has ended. Its log has the state; reports of running trials come separately, and may be missing.
func followStudy(ctx context.Context, a *app.App, bus events.Bus, study events.Study) error {
	var mu sync.Mutex
	var d studyDetail
	view, steps := newStudyView(a), map[string]events.Progress{}
	watching, watchCtx := errgroup.WithContext(ctx)
	progress := bus.Watch(watchCtx, study.Pipeline, "")
	watching.Go(func() error {
		var drawn time.Time
		for p, err := range progress {
			if err != nil {
				return exit.IgnoreEnd(watchCtx, err)
			}
			mu.Lock()
			if trial, ok := trialOf(d.study, p); ok {
				steps[trial] = after(steps[trial], p)
				if time.Since(drawn) > redrawn {
					view.show(d)
					drawn = time.Now()
				}
			}
			mu.Unlock()
		}
		return nil
	})
	watching.Go(func() error {
		for s, err := range studies.Follow(watchCtx, bus, study) {
			if err != nil {
				return err
			}
			mu.Lock()
			d = detailOf(s)
			d.steps = steps
			view.show(d)
			mu.Unlock()
		}
		if err := watchCtx.Err(); err != nil {
			return err // it was left, and is not over
		}
		return exit.ErrOver
	})
	if err := watching.Wait(); !errors.Is(err, exit.ErrOver) || ctx.Err() != nil {
		return exit.Interrupted(ctx, err, fmt.Sprintf("study %s goes on", terminal.ShortID(study.ID)))
	}
	if err := view.end(d); err != nil {
		return err
	}
	return failedStudy(d)
}

// trialOf is the trial that a report is of: its job's, and its phase names it.
func trialOf(s tune.Study, p events.Progress) (string, bool) {
	id, named := strings.CutPrefix(p.Phase, terminal.TrialPhase)
	t := s.Of(p.Job)
	return id, named && t != nil && t.ID == id
}

// after is a trial's report with the metrics of earlier ones that it leaves out: not every step is evaluated.
func after(earlier, p events.Progress) events.Progress {
	if earlier.Job != p.Job || earlier.Attempt != p.Attempt {
		return p
	}
	metrics := maps.Clone(earlier.Metrics)
	if metrics == nil {
		metrics = map[string]float64{}
	}
	maps.Copy(metrics, p.Metrics)
	p.Metrics = metrics
	return p
}

// quietStudy prints nothing but the end, for programs.
type quietStudy struct{ app *app.App }

func (q quietStudy) show(studyDetail) {}

func (q quietStudy) end(d studyDetail) error { return q.app.Print(d, nil) }

// studyLines prints a line for each trial that has ended, and what the study came to.
type studyLines struct {
	out   io.Writer
	shown map[string]bool
}

func (l *studyLines) show(d studyDetail) {
	for _, trial := range d.Trials {
		if trial.Ended.IsZero() || l.shown[trial.Trial] || trial.Status == tune.Running || trial.Status == tune.Invalid {
			continue
		}
		l.shown[trial.Trial] = true
		line := fmt.Sprintf("trial %s  %s  %s  %s", trial.Trial, d.status(trial), d.score(trial), ValuesLine(trial.Values)+whyFailed(trial))
		if trial.Best {
			line += "  best so far"
		}
		fmt.Fprintln(l.out, terminal.Line(line))
	}
}

func (l *studyLines) end(d studyDetail) error {
	_, err := fmt.Fprintf(l.out, "study %s %s%s; %s\n", terminal.ShortID(d.Study), d.State, d.what(), d.counts())
	return err
}

// liveStudy draws the table over itself.
type liveStudy struct {
	out   *terminal.Stream
	size  func() (width, height int, drawable bool)
	drawn int // lines of what stands there
}

// headLines are those of the table before its trials, about: a Pareto set takes more, and pushes out trials.
const headLines = 8

func (l *liveStudy) show(d studyDetail) {
	width, height, _ := l.size()
	var frame bytes.Buffer
	table := tabwriter.NewWriter(&frame, 0, 0, 2, ' ', 0)
	d.table(table, max(1, height-headLines-len(d.Best)))
	_ = table.Flush() // to memory
	lines := strings.Split(strings.TrimRight(frame.String(), "\n"), "\n")
	if len(lines) > height-1 { // what has left the screen can't be drawn over
		lines = lines[:max(1, height-1)]
	}
	for i, line := range lines {
		runes := []rune(terminal.Line(line))
		lines[i] = string(runes[:min(len(runes), max(1, width-1))])
	}
	_ = l.out.Redraw(l.drawn, lines) // a table that can't be drawn is no reason to stop
	l.drawn = len(lines)
}

func (l *liveStudy) end(d studyDetail) error {
	l.show(d)
	return nil
}
