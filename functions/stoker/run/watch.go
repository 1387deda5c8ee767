package run

import (
	"context"
	"fmt"
	"io"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/stoker-ml/stoker/events"
	"github.com/stoker-ml/stoker/functions/admin/access"
	"github.com/stoker-ml/stoker/functions/runs"
	"github.com/stoker-ml/stoker/functions/runs/watch"
	"github.com/stoker-ml/stoker/functions/stoker/app"
	"github.com/stoker-ml/stoker/functions/stoker/exit"
	"github.com/stoker-ml/stoker/functions/stoker/terminal"
)

// watchFlags are the flags of `stoker watch`.
type watchFlags struct{ watch.Options }

func newWatch(a *app.App) *cobra.Command {
	var f watchFlags
	cmd := &cobra.Command{
		Use:         "watch",
		GroupID:     app.Look,
		Annotations: app.Info{Role: access.Console}.Annotations(),
		Short:       "Print events, runs and progress as they arrive",
		Long: "Prints events, states of runs, and progress as they arrive; with -o json one object per line, with -o yaml one document per\n" +
			"event. For people it prints at most one line of progress a second for each job, with -o all of them. While the bus is\n" +
			"unavailable it waits, and continues after the last event shown. Progress reported meanwhile is lost.",
		Example: "  stoker watch\n" +
			"  stoker watch --kind model.trained,training.failed -o json | jq -r .pipeline\n" +
			"  stoker watch --pipeline penguin --all",
		Args: app.NoArguments,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if err := f.check(); err != nil {
				return err
			}
			return a.WithBus(cmd.Context(), func(ctx context.Context, bus events.Bus) error {
				f.splitRun(ctx, a, bus)
				return watchRuns(ctx, a, bus, f)
			})
		},
	}
	flags := cmd.Flags()
	a.AddPipelineFlag(cmd, &f.Pipeline, "only of this pipeline")
	a.AddRunFlag(cmd, &f.Run, "only of this run; with its pipeline as PIPELINE/RUN")
	flags.StringSliceVar(&f.Kinds, "kind", nil, "only these kinds: "+strings.Join(watch.Kinds(), ", ")+" (repeatable)")
	app.CompleteFlag(cmd, "kind", watch.Kinds()...)
	flags.BoolVar(&f.All, "all", false, "begin with the events that are already in the log")
	return cmd
}

// splitRun takes the pipeline from --run PIPELINE/RUN, unless there is a run of that name.
func (f *watchFlags) splitRun(ctx context.Context, a *app.App, bus events.Bus) {
	pipeline, run, both := strings.Cut(f.Run, "/")
	if f.Pipeline != "" || !both || events.CheckName("pipeline", pipeline) != nil {
		return
	}
	key, err := Find(ctx, a, bus, "", f.Run)
	if err != nil { // it may begin later
		key = runs.Key{Pipeline: pipeline, Run: run}
	}
	f.Pipeline, f.Run = key.Pipeline, key.Run
}

func (f watchFlags) check() error {
	for _, kind := range f.Kinds {
		if !slices.Contains(watch.Kinds(), kind) {
			return exit.Usage(fmt.Errorf("--kind %s: expected one of %s", kind, strings.Join(watch.Kinds(), ", ")))
		}
	}
	return nil
}

// inWords describes the awaited outcome.
func (f watchFlags) inWords() string {
	what, of := "events, runs and progress", "all pipelines"
	if len(f.Kinds) > 0 {
		what = strings.Join(f.Kinds, ", ")
	}
	switch {
	case f.Run != "" && f.Pipeline != "":
		of = "run " + f.Pipeline + "/" + f.Run
	case f.Run != "":
		of = "run " + f.Run
	case f.Pipeline != "":
		of = "pipeline " + f.Pipeline
	}
	return what + " of " + of
}

// watchRuns prints events until ctx ends.
func watchRuns(ctx context.Context, a *app.App, bus events.Bus, f watchFlags) error {
	if !a.ForPrograms() {
		f.ProgressEvery = time.Second
	}
	f.Away = func(err error) { fmt.Fprintf(a.Notes(), "the bus is unavailable: %v; waiting for it\n", err) }
	fmt.Fprintf(a.Notes(), "waiting for %s; stop with Ctrl-C\n", f.inWords())
	return watch.Lines(ctx, bus, f.Options, func(line watch.Line) error {
		if a.ForPrograms() {
			return terminal.PrintNext(a.Stdout, a.Output, line)
		}
		_, err := io.WriteString(a.Stdout, terminal.Line(watchedText(line))+"\n")
		return err
	})
}

// watchedText returns the line for people.
func watchedText(l watch.Line) string {
	return strings.TrimRight(fmt.Sprintf("%s  %-16s %s/%s  %s", l.Time.Local().Format(time.TimeOnly), l.Kind, l.Pipeline, l.Run, l.What), " ")
}
