package run

import (
	"bytes"
	"context"
	"fmt"
	"slices"
	"strings"
	"text/tabwriter"
	"time"

	"github.com/spf13/cobra"

	"github.com/stoker-ml/stoker/events"
	"github.com/stoker-ml/stoker/functions/admin/access"
	"github.com/stoker-ml/stoker/functions/internal/spelling"
	"github.com/stoker-ml/stoker/functions/runs"
	"github.com/stoker-ml/stoker/functions/runs/list"
	"github.com/stoker-ml/stoker/functions/stoker/app"
	"github.com/stoker-ml/stoker/functions/stoker/exit"
	"github.com/stoker-ml/stoker/functions/stoker/terminal"
)

// listFlags select the runs of `stoker runs`.
type listFlags struct {
	pipeline string
	states   []string
	since    time.Duration
	limit    int
	watch    bool
	where    string
	filter   *list.Filter // of where, once its names are known
}

// runsInfo describes both `stoker runs` and `stoker runs list`.
var runsInfo = app.Info{Role: access.Console, Output: app.List, Names: "PIPELINE/RUN",
	Always: "pipeline run state updated", Optional: "waits_for class queue_position stopping ended model metrics seconds cached error attempts parameters revision started",
}

func newRuns(a *app.App) *cobra.Command {
	listed := newRunsList(a)
	cmd := &cobra.Command{
		Use:         "runs",
		GroupID:     app.Look,
		Annotations: runsInfo.Annotations(),
		Short:       "List, show and repeat runs",
		Long:        "Lists runs: what each waits for, or its result. Subcommands show one run, or run its inputs again.",
		Example:     listed.Example,
		Args:        app.NoArguments,
	}
	addList(a, cmd)
	cmd.AddCommand(listed, newRunsShow(a), newRunsRerun(a))
	return cmd
}

func newRunsList(a *app.App) *cobra.Command {
	cmd := &cobra.Command{
		Use:         "list",
		Annotations: runsInfo.Annotations(),
		Short:       "List runs, the last updated first",
		Long: "Lists runs, the last updated first: state, metric, how long the training took, whether the model existed before (cached), and\n" +
			"the age of the last change.\n\n" +
			"--where selects runs by terms that must all hold, as the console does: NAME OPERATOR VALUE, or a text in the name, the model or\n" +
			"the error. Operators: = != > >= < <=, and ~ for contains; a comma separates alternatives. Names: " + strings.Join(list.Fields(), ", ") + ",\n" +
			"and the metrics and parameters of the runs, where needed as metric.NAME or param.NAME.",
		Example: "  stoker runs list --pipeline penguin --since 24h\n" +
			"  stoker runs list --where 'accuracy > 0.9 units=64'\n" +
			"  stoker runs list --state failed,expired -o name | xargs -n1 stoker runs show\n" +
			"  stoker runs list --watch",
		Args: app.NoArguments,
	}
	addList(a, cmd)
	return cmd
}

// addList makes a command list runs.
func addList(a *app.App, cmd *cobra.Command) {
	var f listFlags
	cmd.RunE = func(cmd *cobra.Command, _ []string) error {
		if err := f.check(); err != nil {
			return err
		}
		return a.WithBus(cmd.Context(), func(ctx context.Context, bus events.Bus) error {
			if f.watch {
				return watchList(ctx, a, bus, &f)
			}
			all, err := f.list(ctx, bus)
			if err != nil {
				return err
			}
			lines := listing(a, all)
			lines.None = a.NoneOf(ctx, bus, "runs", f.pipeline)
			return app.PrintList(a, lines)
		})
	}
	flags := cmd.Flags()
	a.AddPipelineFlag(cmd, &f.pipeline, "only runs of this pipeline")
	flags.StringSliceVar(&f.states, "state", nil, "only runs in these states: "+strings.Join(runs.States(), ", "))
	app.CompleteFlag(cmd, "state", runs.States()...)
	app.DurationVar(flags, &f.since, "since", 0, "only runs that have changed within this time, like 24h or 7d")
	flags.StringVar(&f.where, "where", "", "only runs that match, like 'accuracy > 0.9 units=64 state=trained'")
	flags.IntVar(&f.limit, "limit", 0, "at most this many; 0: all")
	flags.BoolVar(&f.watch, "watch", false, "print the list again whenever it changes, until interrupted")
}

func (f listFlags) check() error {
	for _, state := range f.states {
		if !slices.Contains(runs.States(), state) {
			return exit.Usage(fmt.Errorf("--state %s: expected one of %s%s", state, strings.Join(runs.States(), ", "),
				spelling.Suggestion(strings.ToLower(state), runs.States())))
		}
	}
	return app.Within("limit", f.limit, 0, app.AnyCount)
}

func (f *listFlags) list(ctx context.Context, bus runs.Source) ([]runs.Summary, error) {
	all, err := runs.List(ctx, bus, f.pipeline)
	if err == nil && f.filter == nil {
		filter, fault := list.Parse(f.where, list.NamesOf(slices.Values(all)))
		if fault != nil {
			return nil, exit.Usage(fmt.Errorf("--where: %w", fault))
		}
		f.filter = &filter
	}
	if err != nil {
		return nil, err
	}
	now := time.Now()
	all = slices.DeleteFunc(all, func(r runs.Summary) bool {
		return len(f.states) > 0 && !slices.Contains(f.states, r.State) || f.since > 0 && now.Sub(r.Updated) > f.since || !f.filter.Matches(&r, now)
	})
	if f.limit > 0 {
		all = all[:min(len(all), f.limit)]
	}
	return all, nil
}

func listing(a *app.App, all []runs.Summary) app.Listing[runs.Summary] {
	return app.Listing[runs.Summary]{Items: all, Name: func(r runs.Summary) string { return r.Pipeline + "/" + r.Run }, Columns: []app.Column[runs.Summary]{
		{Head: "PIPELINE", Of: func(r runs.Summary) any { return a.Fit(r.Pipeline) }},
		{Head: "RUN", Of: func(r runs.Summary) any { return a.Fit(r.Run) }},
		{Head: "STATE", Of: func(r runs.Summary) any { return r.Headline() }},
		{Head: "METRIC", Of: func(r runs.Summary) any { return runs.MainMetric(r.Metrics) }},
		{Head: "TOOK", Of: took},
		{Head: "CACHED", Of: cached},
		{Head: "AGE", Of: func(r runs.Summary) any { return terminal.Ago(time.Since(r.Updated)) }},
		{Head: "WHAT", Of: func(r runs.Summary) any {
			if r.State == runs.Trained && a.Output != terminal.Wide {
				return "" // instead of the address of the model
			}
			return r.What()
		}},
		{Head: "UPDATED", Of: func(r runs.Summary) any { return terminal.Time(r.Updated) }, Wide: true},
		{Head: "CLASS", Of: func(r runs.Summary) any { return r.Class }, Wide: true},
		{Head: "METRICS", Of: func(r runs.Summary) any { return runs.Metrics(r.Metrics) }, Wide: true},
	}}
}

func took(r runs.Summary) any {
	if r.Seconds <= 0 {
		return ""
	}
	return time.Duration(r.Seconds * float64(time.Second)).Round(time.Millisecond).String()
}

func cached(r runs.Summary) any {
	if r.State != runs.Trained {
		return ""
	}
	return map[bool]string{true: "yes", false: "no"}[r.Cached]
}

// watchPeriod is how often a watched list is read.
const watchPeriod = time.Second

// watchList prints the list of runs, and again whenever it has changed, until ctx ends.
func watchList(ctx context.Context, a *app.App, bus runs.Source, f *listFlags) error {
	return watched[runs.Key, runs.Summary]{
		read: func(ctx context.Context) ([]runs.Summary, error) { return f.list(ctx, bus) },
		key:  runs.Summary.Key,
		same: func(a, b runs.Summary) bool {
			return a.Updated.Equal(b.Updated) && a.Headline() == b.Headline() && a.What() == b.What()
		},
		listing: func(_ context.Context, all []runs.Summary) app.Listing[runs.Summary] { return listing(a, all) },
	}.print(ctx, a)
}

// watched is a list that is printed whenever it changes.
type watched[K comparable, T any] struct {
	read    func(context.Context) ([]T, error)
	key     func(T) K
	same    func(before, now T) bool
	listing func(context.Context, []T) app.Listing[T]
}

// print prints the list until ctx ends. On a terminal the new list replaces the old one; elsewhere
// only the lines that have changed are printed.
func (w watched[K, T]) print(ctx context.Context, a *app.App) error {
	_, _, drawable := a.Stdout.Size()
	known, drawn := map[K]T{}, 0
	for {
		all, err := w.read(ctx)
		if err != nil {
			return exit.IgnoreEnd(ctx, err)
		}
		changed := slices.DeleteFunc(slices.Clone(all), func(now T) bool {
			before, ok := known[w.key(now)]
			return ok && w.same(before, now)
		})
		clear(known)
		for _, one := range all {
			known[w.key(one)] = one
		}
		switch {
		case drawable && !a.ForPrograms():
			drawn, err = redrawList(a, w.listing(ctx, all), drawn)
		case len(changed) == 0:
		case a.ForPrograms():
			err = terminal.PrintNext(a.Stdout, a.Output, changed)
		default:
			err = app.PrintList(a, w.listing(ctx, changed))
		}
		if err != nil {
			return err
		}
		select {
		case <-ctx.Done():
			return nil
		case <-time.After(watchPeriod):
		}
	}
}

// redrawList draws a table over the one before, which has so many lines, and returns its own
// number. A table that is larger than the terminal is cut.
func redrawList[T any](a *app.App, l app.Listing[T], over int) (int, error) {
	var text bytes.Buffer
	w := tabwriter.NewWriter(&text, 0, 0, 2, ' ', 0)
	l.Table(w, a.Output == terminal.Wide)
	if err := w.Flush(); err != nil {
		return over, err
	}
	width, height, _ := a.Stdout.Size()
	lines := strings.Split(strings.TrimRight(text.String(), "\n"), "\n")
	lines = lines[:min(len(lines), max(height-1, 1))]
	for i := range lines {
		lines[i] = terminal.Cut(lines[i], width)
	}
	return len(lines), a.Stdout.Redraw(over, lines)
}
