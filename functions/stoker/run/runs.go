package run

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/stoker-ml/stoker/events"
	"github.com/stoker-ml/stoker/functions/admin/access"
	"github.com/stoker-ml/stoker/functions/runs"
	"github.com/stoker-ml/stoker/functions/runs/query"
	"github.com/stoker-ml/stoker/functions/runs/submit"
	"github.com/stoker-ml/stoker/functions/stoker/app"
	"github.com/stoker-ml/stoker/functions/stoker/exit"
	"github.com/stoker-ml/stoker/functions/stoker/terminal"
)

// reran is the result of rerun.
type reran struct {
	Pipeline string        `json:"pipeline"`
	Run      string        `json:"run"`
	Of       string        `json:"of"`
	Revision uint64        `json:"revision"` // of the current pipeline
	Events   []uint64      `json:"events"`   // their sequences
	WaitsFor []events.Kind `json:"waits_for,omitempty"`
}

// rerunFlags are the flags of `stoker runs rerun`.
type rerunFlags struct {
	pipeline string
	opts     submit.RerunOptions
	waits    waitFlags
}

func newRunsRerun(a *app.App) *cobra.Command {
	var f rerunFlags
	cmd := &cobra.Command{
		Use:               "rerun RUN",
		Annotations:       app.Info{Role: access.Operator}.Annotations(),
		ValidArgsFunction: a.RunNames,
		Short:             "Run the inputs of a run again with the current pipeline",
		Long: "Publishes the input events of a run again under a new run, which uses the current revision of the pipeline. The new\n" +
			"run is called RUN-2, or the next free number, or the name given by --as. Hyperparameters that a search found are searched for\n" +
			"again if the pipeline has a tuner. If nothing relevant has changed, the run gets the existing model; --force trains a new one.\n\n" +
			"`stoker replay` repeats the same run instead, with its revision of the pipeline.",
		Example: "  stoker apply penguin.yaml && stoker runs rerun monday --wait\n" +
			"  stoker runs rerun monday --as monday-more-steps",
		Args: app.Named("a run"),
		RunE: func(cmd *cobra.Command, args []string) error {
			if err := f.waits.check(); err != nil {
				return err
			}
			return a.WithBus(cmd.Context(), func(ctx context.Context, bus events.Bus) error {
				return rerun(ctx, a, bus, args[0], f)
			})
		},
	}
	flags := cmd.Flags()
	a.AddPipelineFlag(cmd, &f.pipeline, "pipeline of the run, where several have one of that name; or name it PIPELINE/RUN")
	flags.StringVar(&f.opts.As, "as", "", "name of the new run; default: RUN-2, or the next free number")
	flags.BoolVar(&f.opts.Force, "force", false, "search and train even if the same was done before")
	f.waits.add(cmd)
	return cmd
}

func rerun(ctx context.Context, a *app.App, bus events.Bus, name string, f rerunFlags) error {
	key, err := Find(ctx, a, bus, f.pipeline, name)
	if err != nil {
		return err
	}
	plan, err := submit.PlanRerun(ctx, bus, key, f.opts)
	if errors.Is(err, submit.ErrTaken) {
		return exit.Usage(fmt.Errorf("%w: give another name with --as, or omit --as", err))
	}
	if errors.Is(err, submit.ErrNotApplied) {
		return a.NoPipeline(ctx, bus, key.Pipeline)
	}
	if err != nil {
		return err
	}
	for i := range plan.Events {
		a.GoOn(&plan.Events[i])
	}
	if len(plan.WaitsFor) > 0 {
		fmt.Fprintf(a.Notes(), "run %s waits for %s, which run %s also lacks: publish it with --run %s\n",
			terminal.Line(plan.Run), kindWords(plan.WaitsFor), terminal.Line(key.Run), terminal.Line(app.Quoted(plan.Run)))
	}
	if f.waits.wait {
		fmt.Fprintf(a.Notes(), "run %s starts with the inputs of %s and revision %d of pipeline %s\n",
			terminal.Line(plan.Run), terminal.Line(key.Run), plan.Revision, key.Pipeline)
		return PublishAndFollow(ctx, a, bus, plan.Events, f.waits.timeout)
	}
	return startRerun(ctx, a, bus, plan)
}

// startRerun publishes the events of the new run, and prints its name.
func startRerun(ctx context.Context, a *app.App, bus events.EventLog, plan submit.Rerun) error {
	result := reran{Pipeline: plan.Of.Pipeline, Run: plan.Run, Of: plan.Of.Run, Revision: plan.Revision, WaitsFor: plan.WaitsFor}
	for _, event := range plan.Events {
		receipt, err := bus.Publish(ctx, event)
		if err != nil {
			return fmt.Errorf("start run %s: %w; repeat the command to publish the rest", plan.Run, err)
		}
		result.Events = append(result.Events, receipt.Sequence)
	}
	return a.Print(result, func(w io.Writer) {
		terminal.Row(w, "run", result.Run)
		terminal.Row(w, "pipeline", fmt.Sprintf("%s, revision %d", result.Pipeline, result.Revision))
		terminal.Row(w, "inputs", "those of run "+plan.Of.Run)
		if len(result.WaitsFor) > 0 {
			terminal.Row(w, "waits for", kindWords(result.WaitsFor))
		}
	})
}

func kindWords(kinds []events.Kind) string {
	words := make([]string, len(kinds))
	for i, kind := range kinds {
		words[i] = string(kind)
	}
	return strings.Join(words, ", ")
}

// waitFlags are the flags of commands that may wait until a run has ended.
type waitFlags struct {
	wait    bool
	timeout time.Duration
}

func (f *waitFlags) add(cmd *cobra.Command) {
	cmd.Flags().BoolVar(&f.wait, "wait", false, "wait until the run has ended; exit status 1 unless it has a model")
	cmd.Flags().DurationVar(&f.timeout, "timeout", 0, "how long --wait waits, then exit status 124; default: forever")
}

func (f *waitFlags) check() error { return app.CheckTimeout(f.wait, f.timeout) }

// awaitRun waits until a run has ended, and prints its outcome, which is in the log first.
func awaitRun(ctx context.Context, a *app.App, bus events.Bus, key runs.Key, timeout time.Duration) (ended runs.Summary, err error) {
	late := fmt.Errorf("run %s: it has not ended within %s; `stoker runs show %[1]s` shows what it waits for", key.Run, timeout)
	err = exit.AtMost(ctx, timeout, late, func(ctx context.Context) error {
		now, err := query.Of(ctx, bus, key)
		if err != nil || now.Over() {
			ended = now.Summary
			return err
		}
		fmt.Fprintf(a.Notes(), "run %s %s\n", terminal.Line(key.Run), terminal.Line(now.What()))
		ended, err = query.End(ctx, bus, key, now.Last())
		return err
	})
	return ended, err
}
