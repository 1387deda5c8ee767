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

// studyView displays a study as it changes, and a last time when it has ended.
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

// followStudy displays a study until it has ended. Its log has the state; reports of running trials
// are separate, and may be missing.
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
			return err // it was left, and has not ended
		}
		return exit.ErrOver
	})
	if err := watching.Wait(); !errors.Is(err, exit.ErrOver) || ctx.Err() != nil {
		return exit.Interrupted(ctx, err, fmt.Sprintf("study %s continues", terminal.ShortID(study.ID)))
	}
	if err := view.end(d); err != nil {
		return err
	}
	return failedStudy(d)
}

// trialOf returns the trial of a report, which is in the phase of its job.
func trialOf(s tune.Study, p events.Progress) (string, bool) {
	id, named := strings.CutPrefix(p.Phase, terminal.TrialPhase)
	t := s.Of(p.Job)
	return id, named && t != nil && t.ID == id
}

// after returns a trial's report, completed with metrics of earlier reports: not every step is
// evaluated.
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

// quietStudy prints only the end, for programs.
type quietStudy struct{ app *app.App }

func (q quietStudy) show(studyDetail) {}

func (q quietStudy) end(d studyDetail) error { return q.app.Print(d, nil) }

// studyLines prints a line for each trial that has ended, and the result of the study.
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

// liveStudy redraws the table in place.
type liveStudy struct {
	out   *terminal.Stream
	size  func() (width, height int, drawable bool)
	drawn int // lines on the screen
}

// headLines is about the number of lines above the trials: a larger Pareto set displaces trials.
const headLines = 8

func (l *liveStudy) show(d studyDetail) {
	width, height, _ := l.size()
	var frame bytes.Buffer
	table := tabwriter.NewWriter(&frame, 0, 0, 2, ' ', 0)
	d.table(table, max(1, height-headLines-len(d.Best)))
	_ = table.Flush() // to memory
	lines := strings.Split(strings.TrimRight(frame.String(), "\n"), "\n")
	if len(lines) > height-1 { // lines scrolled off the screen can't be redrawn
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
