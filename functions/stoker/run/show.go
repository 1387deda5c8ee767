package run

import (
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/stoker-ml/stoker/events"
	"github.com/stoker-ml/stoker/functions/admin/access"
	"github.com/stoker-ml/stoker/functions/internal/spelling"
	"github.com/stoker-ml/stoker/functions/runs"
	"github.com/stoker-ml/stoker/functions/runs/query"
	"github.com/stoker-ml/stoker/functions/runs/workers"
	"github.com/stoker-ml/stoker/functions/stoker/app"
	"github.com/stoker-ml/stoker/functions/stoker/exit"
	"github.com/stoker-ml/stoker/functions/stoker/terminal"
)

func newRunsShow(a *app.App) *cobra.Command {
	var pipelineName string
	var waits waitFlags
	cmd := &cobra.Command{
		Use: "show RUN",
		Annotations: app.Info{Role: access.Console, Output: app.Object, With: "RUN",
			Always: "pipeline run state updated events next", Optional: "waits_for class queue_position stopping ended model metrics seconds cached error attempts parameters started since expires job study reused search revision lease worker heartbeat progress dead_letter outcome configuration settings",
		}.Annotations(),
		ValidArgsFunction: a.RunNames,
		Short:             "Show a run: its state, what it waits for, its result",
		Long:              "Shows the events of a run, what it waits for, which worker has its job, its result, and what to do next.",
		Args:              app.Named("a run"),
		Example: "  stoker runs show monday\n" +
			"  stoker runs show monday --wait --timeout 1h -q && ./serve.sh",
		RunE: func(cmd *cobra.Command, args []string) error {
			if err := waits.check(); err != nil {
				return err
			}
			return a.WithBus(cmd.Context(), func(ctx context.Context, bus events.Bus) error {
				key, err := Find(ctx, a, bus, pipelineName, args[0])
				if err != nil {
					return err
				}
				if !waits.wait {
					return showRun(ctx, a, bus, key)
				}
				ended, err := awaitRun(ctx, a, bus, key, waits.timeout)
				if err != nil {
					return exit.Interrupted(ctx, err, fmt.Sprintf("run %s continues", key.Run))
				}
				if err := showRun(ctx, a, bus, key); err != nil {
					return err
				}
				return endedWell(ctx, a, bus, ended)
			})
		},
	}
	waits.add(cmd)
	a.AddPipelineFlag(cmd, &pipelineName, "pipeline of the run, where several have one of that name; or name it PIPELINE/RUN")
	return cmd
}

// shownRun is the result of `stoker runs show`.
type shownRun struct {
	query.Detail
	Worker *holder  `json:"worker,omitempty"` // that holds the job, if it reports itself
	Next   []string `json:"next,omitempty"`   // commands that help

	asked time.Time
}

func showRun(ctx context.Context, a *app.App, bus events.Bus, key runs.Key) error {
	detail, err := query.Of(ctx, bus, key)
	if err != nil {
		return err
	}
	shown := shownRun{detail, holderOf(ctx, bus, detail), nextSteps(a, detail), time.Now()}
	return a.Print(shown, shown.table)
}

// holder is the worker that holds a run's job.
type holder struct {
	ID   string `json:"id"`
	Host string `json:"host"`
}

// holderOf returns the worker that reports to hold the lease of a run's job; nil if none does.
func holderOf(ctx context.Context, bus workers.Feed, d query.Detail) *holder {
	if d.Lease == nil || d.Lease.Holder == "" {
		return nil
	}
	list, err := knownWorkers(ctx, bus)
	if err != nil {
		return nil // the run is shown without it
	}
	for _, w := range list {
		if slices.ContainsFunc(w.Jobs, func(job events.WorkerJob) bool { return job.Attempt == d.Lease.Holder }) {
			return &holder{w.ID, w.Host}
		}
	}
	return nil
}

// Find returns the run that a user names, with its pipeline if given: as a flag, or as
// PIPELINE/RUN. A run whose own name has that form is found first.
func Find(ctx context.Context, a *app.App, bus events.Bus, pipeline, name string) (runs.Key, error) {
	key, err := runNamed(ctx, a, bus, pipeline, name)
	at := strings.IndexByte(name, '/')
	if at < 0 || pipeline != "" || exit.Code(err) != exit.Missing || events.CheckName("pipeline", name[:at]) != nil {
		return key, err
	}
	if other, otherErr := runNamed(ctx, a, bus, name[:at], name[at+1:]); otherErr == nil {
		return other, nil
	}
	return key, err
}

func runNamed(ctx context.Context, a *app.App, bus events.Bus, pipeline, run string) (runs.Key, error) {
	key, err := query.Run(ctx, bus, pipeline, run)
	if several, ok := errors.AsType[*query.Several](err); ok {
		return key, exit.Usage(fmt.Errorf("several pipelines have a run %s: %s; name one: --pipeline %s, or %[3]s/%[1]s",
			run, strings.Join(several.Pipelines, ", "), several.Pipelines[0]))
	}
	if errors.Is(err, events.ErrNotFound) {
		of := map[bool]string{true: " of pipeline " + pipeline}[pipeline != ""]
		hint := similar(ctx, a, bus, pipeline, run)
		hint += map[bool]string{true: ":", false: ";"}[hint == ""]
		return key, exit.NotFound(fmt.Errorf("no event of run %s%s%s `%s` lists all runs", run, of, hint, a.Command("runs")))
	}
	return key, err
}

// similar returns, for the end of an error, the run or the pipeline that was probably meant.
func similar(ctx context.Context, a *app.App, bus runs.Source, pipeline, run string) string {
	of, name, both := strings.Cut(run, "/")
	if both && pipeline == "" {
		pipeline, run = of, name
	}
	if other := a.SimilarPipeline(ctx, bus, pipeline); pipeline != "" && other != "" {
		return other
	}
	list, err := runs.List(ctx, bus, pipeline)
	if err != nil { // only a hint: errors are ignored
		return ""
	}
	var names, begin []string
	for _, r := range list {
		names = append(names, r.Run)
		if strings.HasPrefix(r.Run, run) {
			begin = append(begin, r.Run)
		}
	}
	if len(begin) == 1 {
		return "; did you mean " + begin[0] + "?"
	}
	return spelling.Suggestion(run, names)
}

func (d shownRun) table(w io.Writer) {
	d.describe(w)
	d.describeJob(w)
	for i, next := range d.Next {
		terminal.Row(w, map[bool]string{true: "next"}[i == 0], next)
	}
	if d.Job != "" && (d.State == runs.Failed || d.State == runs.Cancelled) {
		terminal.Row(w, "", PinnedNote(d.Revision))
	}
	if len(d.Settings) > 0 {
		fmt.Fprintf(w, "\nsettings, as reported by the module\n%s", indented(terminal.YAMLOf(d.Settings)))
	}
	if len(d.Configuration) > 0 {
		fmt.Fprintf(w, "\nconfiguration: pipeline %s, revision %d, with its defaults\n%s", d.Pipeline, d.Revision, indented(terminal.YAMLOf(d.Configuration)))
	}
	if more := runs.Details(d.Failed.Message, d.Failed.LogTail); d.State == runs.Failed && more != "" {
		fmt.Fprintln(w, more)
	}
}

// describe prints the state of the run, its model, its search and its events.
func (d shownRun) describe(w io.Writer) {
	terminal.Row(w, "run", d.Run)
	terminal.Row(w, "pipeline", d.Pipeline)
	terminal.Row(w, "state", d.Headline())
	if what := d.What(); what != "" {
		terminal.Row(w, "", what)
	}
	if d.State == runs.Trained && d.Trained != nil {
		describeModel(w, d.Trained)
	}
	if d.Study != "" {
		terminal.Row(w, "study", terminal.ShortID(d.Study)+map[bool]string{true: ", reused"}[d.Reused])
	}
	if d.Search != nil {
		terminal.Row(w, "search", d.Search)
	}
	terminal.Row(w, "since", terminal.Time(d.Since))
	if !d.Expires.IsZero() {
		terminal.Row(w, "expires", "within a minute of "+terminal.Time(d.Expires))
	}
	for _, f := range d.Events {
		terminal.Row(w, fmt.Sprintf("event %d", f.Sequence), fmt.Sprintf("%s  %s  %s from %s", terminal.Time(f.Stored), f.Kind, f.ID, f.Source))
		if f.Ignored != "" {
			terminal.Row(w, "", "ignored: "+runs.FirstLine(f.Ignored))
		}
	}
}

// describeJob prints the job of the run, its worker, and how it ended.
func (d shownRun) describeJob(w io.Writer) {
	if d.Job != "" {
		terminal.Row(w, "job", d.Job)
	}
	if d.Lease != nil {
		terminal.Row(w, "attempt", attemptLine(*d.Lease))
	}
	if d.Worker != nil {
		terminal.Row(w, "worker", d.Worker.ID+" on "+d.Worker.Host)
	}
	if !d.Heartbeat.IsZero() {
		age := max(0, d.asked.Sub(d.Heartbeat)).Truncate(time.Second)
		terminal.Row(w, "heartbeat", fmt.Sprintf("%s, %s ago", terminal.Time(d.Heartbeat), age))
	}
	if d.Progress != nil {
		terminal.Row(w, "progress", progressLine(*d.Progress))
	}
	if d.State == runs.Failed && d.Failed.Log != "" {
		terminal.Row(w, "log", d.Failed.Log)
	}
	if d.DeadLetter != 0 {
		terminal.Row(w, "dead letter", d.DeadLetter)
	}
}

// indented indents each line of a text by two blanks.
func indented(text string) string {
	return "  " + strings.ReplaceAll(strings.TrimRight(text, "\n"), "\n", "\n  ") + "\n"
}

// attemptLine names the worker of a job, and how earlier attempts ended.
func attemptLine(lease events.Lease) string {
	line := fmt.Sprintf("number %d", lease.Number)
	if lease.Holder != "" {
		line += ", " + lease.Holder + " holds the lease"
	}
	for _, kind := range slices.Sorted(maps.Keys(lease.Failures)) {
		line += fmt.Sprintf(", %d ended: %s", lease.Failures[kind], endedWords(kind))
	}
	if lease.Ended != nil {
		line += fmt.Sprintf("; number %d: %s", lease.Ended.Attempt, runs.FirstLine(lease.Ended.Why))
	}
	return line
}

// endedWords describes how an attempt ended.
func endedWords(kind events.FailureKind) string {
	if kind == events.FailureUnavailable {
		return "handed back or lost"
	}
	return string(kind)
}

func progressLine(p events.Progress) string {
	what := p.Phase + " " + runs.Step(p)
	if p.Phase == "resuming" {
		what = fmt.Sprintf("resuming from step %d ", p.Step)
	}
	return strings.TrimSpace(fmt.Sprintf("%s  %s%s", terminal.Time(p.Time), what, runs.Metrics(p.Metrics)))
}

// nextSteps returns the commands that help a run in its state.
func nextSteps(a *app.App, d query.Detail) []string {
	run := app.Quoted(d.Run) + " --pipeline " + d.Pipeline
	var next []string
	if d.Study != "" && (d.State == runs.Tuning || d.State == runs.Failed) {
		follow := map[bool]string{true: " -f  # follows the search", false: "  # shows its search, trial by trial"}[d.State == runs.Tuning]
		next = append(next, a.Command("studies show "+app.Quoted(d.Pipeline+"/"+d.Run))+follow)
	}
	switch d.State {
	case runs.Waiting, runs.Queued, runs.Tuning, runs.Running:
		next = append(next, a.Command("cancel "+run)+"  # cancels it")
	case runs.Held:
		if d.Position != nil && d.Position.Paused {
			next = append(next, a.Command("resume "+d.Pipeline)+"  # resumes all runs of the pipeline")
		}
		next = append(next, a.Command("cancel "+run)+"  # cancels it")
	case runs.Trained:
		next = append(next, a.Command("models pull "+d.Pipeline+" --run "+app.Quoted(d.Run))+"  # copies its model")
	case runs.Cancelled, runs.Failed, runs.Expired:
		next = append(next, a.Command("runs rerun "+run)+"  # runs its inputs again, with the current pipeline")
		if d.Job != "" && d.DeadLetter == 0 {
			next = append(next, a.Command("replay --run "+run+" --force")+"  # trains again")
		}
	}
	if d.State == runs.Failed && d.Failed.Log != "" {
		next = append(next, a.Command("logs "+app.Quoted(d.Pipeline+"/"+d.Run))+"  # prints the log of its module")
	}
	if d.DeadLetter != 0 {
		next = append(next, a.Command(fmt.Sprintf("dead show %d", d.DeadLetter))+"  # shows its job and the events that led to it")
		if !d.EndedWithoutJob {
			next = append(next, a.Command(fmt.Sprintf("dead retry %d", d.DeadLetter))+"  # once the cause is fixed")
		}
	}
	return next
}
