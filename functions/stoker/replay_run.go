package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strings"

	"github.com/stoker-ml/stoker/events"
	"github.com/stoker-ml/stoker/functions/replay"
	"github.com/stoker-ml/stoker/functions/runs"
	"github.com/stoker-ml/stoker/functions/stoker/exit"
	"github.com/stoker-ml/stoker/functions/stoker/terminal"
)

// replayed is what replay reports.
type replayed struct {
	Request string         `json:"request,omitempty"`
	DryRun  bool           `json:"dry_run"`
	Runs    []*replayedRun `json:"runs"`
}

// replayedRun is what was to be done for one run, and what came of it.
type replayedRun struct {
	replay.Step
	Did   replay.Did `json:"did,omitempty"`
	Job   string     `json:"job,omitempty"`
	Model string     `json:"model,omitempty"`
	Error string     `json:"error,omitempty"`

	refused error // what the bus did not permit
}

// replay says what is to be done, then does it.
func (a *app) replay(ctx context.Context, l link, f replayFlags) error {
	r, err := replay.New(ctx, l.box, l.store, a.logger())
	if err != nil {
		return err
	}
	plan, err := r.Survey(ctx, f.opts)
	if err != nil {
		return err
	}
	if f.opts.Run != "" && len(plan.Steps) == 0 {
		return exit.NotFound(fmt.Errorf("no fact of run %s there: `stoker runs` lists them", f.opts.Run))
	}
	report := replayed{Request: f.opts.Request, DryRun: f.dryRun, Runs: []*replayedRun{}}
	for _, step := range plan.Steps {
		report.Runs = append(report.Runs, &replayedRun{Step: step})
	}
	if !a.forPrograms() {
		if err := a.print(nil, report.table); err != nil {
			return err
		}
	}
	if !f.dryRun {
		late := fmt.Errorf("not everything was there within %s; the same command goes on", f.timeout)
		err = exit.AtMost(ctx, f.timeout, late, func(ctx context.Context) error {
			return r.Do(ctx, plan, f.wait, func(p replay.Progress) { report.Runs[p.Number].add(p); a.sayProgress(p) })
		})
		err = errors.Join(report.err(), exit.Interrupted(ctx, err, "jobs that were offered go on; the same command does the rest"))
	}
	if a.forPrograms() {
		err = errors.Join(err, a.print(report, nil))
	}
	return err
}

func (r *replayedRun) add(p replay.Progress) {
	r.Did = p.Did
	if p.Job != "" {
		r.Job = p.Job
	}
	if p.Fact != nil {
		r.Model = runs.Outcome(events.Recorded{Fact: *p.Fact}).Model
	}
	if p.Err != nil {
		r.Error = p.Err.Error()
	}
	if errors.Is(p.Err, events.ErrRefused) {
		r.refused = p.Err
	}
}

// sayProgress tells on standard error how the replay gets on.
func (a *app) sayProgress(p replay.Progress) {
	line := fmt.Sprintf("run %s of pipeline %s: %s", p.Step.Run.Run, p.Step.Pipeline, p.Did)
	if p.Err != nil {
		line += ": " + runs.FirstLine(p.Err.Error())
	}
	fmt.Fprintln(a.notes(), terminal.Line(line))
}

// err counts the runs that something went wrong with.
func (r replayed) err() error {
	failed, refused := 0, error(nil)
	for _, run := range r.Runs {
		if run.refused != nil {
			refused = run.refused
		}
		if run.Error != "" || run.Action == replay.Stuck {
			failed++
		}
	}
	switch {
	case failed == 0:
		return nil
	case refused != nil:
		return fmt.Errorf("%d of %d runs failed or could not be done: %w", failed, len(r.Runs), refused)
	}
	return fmt.Errorf("%d of %d runs failed or could not be done", failed, len(r.Runs))
}

func (r replayed) table(w io.Writer) {
	if r.Request != "" {
		fmt.Fprintf(w, "request %s\n", r.Request)
	}
	if len(r.Runs) == 0 {
		fmt.Fprintln(w, "no run has a fact there")
		return
	}
	terminal.Row(w, "PIPELINE", "RUN", "DO", "WHY")
	for _, run := range r.Runs {
		terminal.Row(w, run.Pipeline, run.Run.Run, run.Action, runs.FirstLine(run.why()))
	}
}

// why says also what a run waits for.
func (r *replayedRun) why() string {
	why := r.Why
	if len(r.WaitsFor) > 0 {
		kinds := make([]string, len(r.WaitsFor))
		for i, kind := range r.WaitsFor {
			kinds[i] = string(kind)
		}
		why = "waits for " + strings.Join(kinds, ", ")
	}
	if len(r.After) > 0 {
		runs := make([]string, len(r.After))
		for i, run := range r.After {
			runs[i] = run.Run
		}
		why += "; after " + strings.Join(runs, ", ")
	}
	return why
}
