package admin

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"io"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/stoker-ml/stoker/events"
	"github.com/stoker-ml/stoker/functions/admin/access"
	"github.com/stoker-ml/stoker/functions/admin/replay"
	"github.com/stoker-ml/stoker/functions/internal/filter"
	"github.com/stoker-ml/stoker/functions/runs"
	"github.com/stoker-ml/stoker/functions/stoker/app"
	"github.com/stoker-ml/stoker/functions/stoker/exit"
	"github.com/stoker-ml/stoker/functions/stoker/run"
	"github.com/stoker-ml/stoker/functions/stoker/terminal"
)

// replayFlags are the flags of `stoker replay`.
type replayFlags struct {
	from         string
	opts         replay.Options
	dryRun, wait bool
	timeout      time.Duration
}

func newReplay(a *app.App) *cobra.Command {
	var f replayFlags
	cmd := &cobra.Command{
		Use:     "replay --from TIME|SEQUENCE",
		GroupID: app.Act,
		Annotations: app.Info{Role: access.Operator, Output: app.Object, With: "--from 1 --dry-run",
			Always: "dry_run runs", Optional: "request",
		}.Annotations(),
		Short: "Replay the log: repeat missing work",
		Long: "Checks every run that has an event at or after --from, and repeats only missing or damaged results: a run whose model is gone is\n" +
			"trained again (the same execution: a deterministic module gives the same bytes), a lost job is enqueued again, a lost\n" +
			"join is rebuilt. Complete runs do not change, nor do failed runs, which `stoker dead` lists. A run that starts\n" +
			"from a model that is also gone waits for that model, so the command may run for a while. Runs are listed and repeated\n" +
			"in the order in which their events arrived.\n\n" +
			"--from is a sequence from `stoker runs show`, a time (2026-11-21T09:00:00Z), or a duration before now (24h).\n\n" +
			"--force trains the runs again even if their models exist, as new executions. It prints the name of its\n" +
			"request; repeating the same --request makes the same executions, so nothing is done twice.\n\n" + run.PinnedHelp,
		Example: `  stoker replay --from 24h --dry-run
  stoker replay --from 1 --pipeline penguin --wait
  stoker replay --run monday --force`,
		Args: app.NoArguments,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if err := f.check(cmd); err != nil {
				return err
			}
			return a.WithLink(cmd.Context(), func(ctx context.Context, l app.Link) error { return replayEvents(ctx, a, l, f) })
		},
	}
	f.add(a, cmd)
	return cmd
}

func (f *replayFlags) add(a *app.App, cmd *cobra.Command) {
	flags := cmd.Flags()
	flags.StringVar(&f.from, "from", "", "where to begin: a sequence, a time, or a duration before now; optional with --run")
	a.AddPipelineFlag(cmd, &f.opts.Pipeline, "only runs of this pipeline")
	a.AddRunFlag(cmd, &f.opts.Run, "only this run; with its pipeline as PIPELINE/RUN")
	flags.BoolVar(&f.opts.Force, "force", false, "train again even if the models exist")
	flags.StringVar(&f.opts.Request, "request", "", "name of the request, with --force; default: a new one")
	flags.BoolVar(&f.dryRun, "dry-run", false, "only print what would be done")
	flags.BoolVar(&f.wait, "wait", false, "wait until each run has an outcome")
	flags.DurationVar(&f.timeout, "timeout", 0, "how long to wait; default: forever")
}

func (f *replayFlags) check(cmd *cobra.Command) error {
	switch {
	case f.from == "" && f.opts.Run == "":
		return exit.Usage(errors.New("expected --from or --run: `stoker replay --from 1` checks all runs"))
	case f.opts.Request != "" && !f.opts.Force:
		return exit.Usage(errors.New("--request goes with --force"))
	}
	if f.opts.Force && f.opts.Request == "" {
		f.opts.Request = strings.ToLower(rand.Text())
	}
	// A run that others depend on is awaited without --wait too.
	if err := app.CheckTimeout(true, f.timeout); err != nil {
		return err
	}
	var err error
	f.opts.From, err = parseFrom(f.from, time.Now())
	return err
}

// parseFrom parses --from.
func parseFrom(text string, now time.Time) (from replay.From, err error) {
	if text == "" {
		return from, nil
	}
	if sequence, err := strconv.ParseUint(text, 10, 64); err == nil {
		return replay.From{Sequence: sequence}, nil
	}
	if ago, ok := filter.ParseDuration(text); ok {
		return replay.From{Time: now.Add(-ago)}, nil
	}
	if from.Time, err = time.Parse(time.RFC3339, text); err == nil {
		return from, nil
	}
	return from, exit.Usage(fmt.Errorf("--from %s: expected a sequence like 17, a time like 2026-11-21T09:00:00Z, or a duration ago like 24h or 7d", text))
}

// replayed is the result of replay.
type replayed struct {
	Request string         `json:"request,omitempty"`
	DryRun  bool           `json:"dry_run"`
	Runs    []*replayedRun `json:"runs"`
}

// replayedRun is the planned action for one run, and its result.
type replayedRun struct {
	replay.Step
	Did   replay.Did `json:"did,omitempty"`
	Job   string     `json:"job,omitempty"`
	Model string     `json:"model,omitempty"`
	Error string     `json:"error,omitempty"`

	refused error // by the bus, for missing permissions
}

// replayEvents prints the plan, then carries it out.
func replayEvents(ctx context.Context, a *app.App, l app.Link, f replayFlags) error {
	if f.opts.Pipeline == "" && strings.Contains(f.opts.Run, "/") {
		key, err := run.Find(ctx, a, l.Bus, "", f.opts.Run)
		if err != nil {
			return err
		}
		f.opts.Pipeline, f.opts.Run = key.Pipeline, key.Run
	}
	r, err := replay.New(ctx, l.Bus, l.Store, a.Logger())
	if err != nil {
		return err
	}
	plan, err := r.Survey(ctx, f.opts)
	if err != nil {
		return err
	}
	if f.opts.Run != "" && len(plan.Steps) == 0 {
		return exit.NotFound(fmt.Errorf("no event of run %s in the range of --from: `stoker runs` lists all runs", f.opts.Run))
	}
	report := replayed{Request: f.opts.Request, DryRun: f.dryRun, Runs: []*replayedRun{}}
	for _, step := range plan.Steps {
		report.Runs = append(report.Runs, &replayedRun{Step: step})
	}
	if !a.ForPrograms() {
		if err := a.Print(nil, report.table); err != nil {
			return err
		}
	}
	if !f.dryRun {
		err = report.do(ctx, a, r, plan, f)
		err = errors.Join(report.err(), exit.Interrupted(ctx, err, "enqueued jobs continue; repeat the command for the rest"))
	}
	if a.ForPrograms() {
		err = errors.Join(err, a.Print(report, nil))
	}
	return err
}

// do carries out the plan, and shows its progress.
func (r *replayed) do(ctx context.Context, a *app.App, with *replay.Replay, plan replay.Plan, f replayFlags) error {
	work := a.Begin("replay", "runs")
	defer work.Close()
	for _, step := range plan.Steps {
		if step.Action != replay.Leave && step.Action != replay.Stuck {
			work.Expect(1)
		}
	}
	counted := map[int]bool{}
	late := fmt.Errorf("not all runs were done within %s; repeat the command to continue", f.timeout)
	return exit.AtMost(ctx, f.timeout, late, func(ctx context.Context) error {
		return with.Do(ctx, plan, f.wait, func(p replay.Progress) {
			r.Runs[p.Number].add(p)
			running := p.Job != "" && p.Event == nil && p.Err == nil
			if !counted[p.Number] && !(f.wait && running) {
				counted[p.Number] = true
				work.Add(1)
			}
			work.Note(p.Step.Pipeline + "/" + p.Step.Run.Run)
			sayProgress(a, p)
		})
	})
}

func (r *replayedRun) add(p replay.Progress) {
	r.Did = p.Did
	if p.Job != "" {
		r.Job = p.Job
	}
	if p.Event != nil {
		r.Model = runs.Outcome(events.Recorded{Event: *p.Event}).Model
	}
	if p.Err != nil {
		r.Error = p.Err.Error()
	}
	if errors.Is(p.Err, events.ErrRefused) {
		r.refused = p.Err
	}
}

// sayProgress prints the progress of the replay on standard error.
func sayProgress(a *app.App, p replay.Progress) {
	line := fmt.Sprintf("run %s of pipeline %s: %s", p.Step.Run.Run, p.Step.Pipeline, p.Did)
	if p.Err != nil {
		line += ": " + runs.FirstLine(p.Err.Error())
	}
	fmt.Fprintln(a.Notes(), terminal.Line(line))
}

// err counts the runs that had an error.
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
		fmt.Fprintln(w, "no run has an event in this range")
		return
	}
	terminal.Row(w, "PIPELINE", "RUN", "DO", "WHY")
	for _, run := range r.Runs {
		terminal.Row(w, run.Pipeline, run.Run.Run, run.Action, runs.FirstLine(run.why()))
	}
}

// why also says what a run waits for.
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
