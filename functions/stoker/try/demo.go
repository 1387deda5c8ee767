package try

import (
	"context"
	"fmt"
	"io"
	"time"

	"github.com/spf13/cobra"

	"github.com/stoker-ml/stoker/events"
	"github.com/stoker-ml/stoker/functions/dispatch"
	"github.com/stoker-ml/stoker/functions/pipeline"
	"github.com/stoker-ml/stoker/functions/runs"
	"github.com/stoker-ml/stoker/functions/stoker/app"
	"github.com/stoker-ml/stoker/functions/stoker/exit"
	"github.com/stoker-ml/stoker/functions/stoker/run"
	"github.com/stoker-ml/stoker/functions/stoker/serve"
	"github.com/stoker-ml/stoker/functions/stoker/stack"
	"github.com/stoker-ml/stoker/functions/stoker/terminal"
	"github.com/stoker-ml/stoker/local/demo"
)

func newDemo(a *app.App) *cobra.Command {
	var keep bool
	cmd := &cobra.Command{
		Use:         "demo",
		GroupID:     app.Start,
		Annotations: app.Info{Role: app.NoRole}.Annotations(),
		Short:       "Train a model from one event on this machine",
		Long: "Starts the local stack, applies the penguin pipeline, uploads artifacts that TFX made, publishes the events of\n" +
			"an upstream component, and shows the resulting model. With -o json it prints only the event of the trained model.",
		Example: "  stoker demo\n" +
			"  stoker demo -o json | jq .data.metrics",
		Args: app.NoArguments,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if err := app.CheckCompute(); err != nil {
				return err
			}
			err := serve.WithStack(cmd.Context(), a, serve.StackOptions(a), func(ctx context.Context, stack *stack.Stack) error {
				if !keep {
					return runDemo(ctx, a, stack)
				}
				return serve.WithConsole(ctx, a, serve.AnyConsole(), stack, nil, func(ctx context.Context, url, token string) error {
					fmt.Fprintf(a.Notes(), "watch it at %s\n", url)
					return keepDemo(ctx, a, stack, url, token)
				})
			})
			return exit.Interrupted(cmd.Context(), err, "data stays in "+a.DataDir)
		},
	}
	cmd.Flags().BoolVar(&keep, "keep", false, "keep running, like up, with the console")
	return cmd
}

// keepDemo keeps the stack running after the demo, like up.
func keepDemo(ctx context.Context, a *app.App, stack *stack.Stack, console, token string) error {
	outcome, err := tryDemo(ctx, a, stack)
	if err == nil {
		err = reportDemo(a, outcome, console)
	}
	if err != nil {
		return err
	}
	serve.Announce(a, stack, console, token)
	return stack.Wait(ctx)
}

func runDemo(ctx context.Context, a *app.App, stack *stack.Stack) error {
	outcome, err := tryDemo(ctx, a, stack)
	if err != nil {
		return err
	}
	return reportDemo(a, outcome, "")
}

// tryDemo acts as upstream: pipeline, artifacts, events; and then waits for the outcome, like
// downstream.
func tryDemo(ctx context.Context, a *app.App, stack *stack.Stack) (outcome events.Event, err error) {
	if err := applyDemo(ctx, stack.Bus); err != nil {
		return outcome, err
	}
	artifacts := stack.Root.Join("demo", demo.PipelineName)
	if err := demo.Upload(ctx, stack.Store, artifacts); err != nil {
		return outcome, err
	}
	runName := "demo-" + time.Now().UTC().Format("20060102-150405.000")
	fmt.Fprintf(a.Notes(), "stoker demo: data in %s\n", a.DataDir)
	fmt.Fprintf(a.Notes(), "publishing hparams.ready and transform.ready for run %s\n", runName)
	evs := demo.Events(artifacts, runName)
	for i := range evs {
		a.GoOn(&evs[i])
	}
	return run.Follow(ctx, a, stack.Bus, evs)
}

func applyDemo(ctx context.Context, bus events.KVBuckets) error {
	name, text := demo.PipelineFile()
	spec, err := pipeline.Parse(name, text)
	if err != nil {
		return err
	}
	origin := pipeline.OriginBy("stoker demo")
	origin.File, origin.Source = name, pipeline.SourceOf(text)
	_, _, err = dispatch.ApplyFrom(ctx, bus, spec, origin)
	return err
}

// reportDemo prints the resulting event for programs; else eight lines: the run, its model, all
// addresses, and what to type next. console is the address of the console, "" if none runs.
func reportDemo(a *app.App, outcome events.Event, console string) error {
	trained, ok := outcome.Data.(*events.ModelTrained)
	if !ok {
		run.Describe(a.Stderr, outcome)
		return fmt.Errorf("the demo's run ended in %s", outcome.Data.Kind())
	}
	return a.Print(runs.JSON(outcome), func(w io.Writer) {
		terminal.Row(w, "run", outcome.Run+demoNote(trained))
		terminal.Row(w, "model", trained.Model.URI)
		terminal.Row(w, "accuracy", fmt.Sprintf("%.3f on the eval split", trained.Metrics["accuracy"]))
		terminal.Row(w, "data", a.DataDir)
		for i, row := range demoNext(a, outcome.Run, console) {
			terminal.Row(w, map[int]string{0: "console", 1: "next"}[i], row)
		}
	})
}

// demoNote explains, for a run that reused the model of an earlier one, why nothing was trained.
func demoNote(trained *events.ModelTrained) string {
	if !trained.Cached {
		return ""
	}
	return " (nothing was trained: an earlier run has the same inputs, module and settings; use an empty --data folder to train again)"
}

// demoNext returns the address of the console, and three commands for a newcomer, ready to be
// typed.
func demoNext(a *app.App, run, console string) []string {
	first := a.Command("runs show "+app.Quoted(run)) + "  # the run, its events and its model"
	if console == "" {
		console = "http://" + serve.DefaultConsole + "/ while `" + a.Command("up") + "` runs"
		first = a.Command("up") + " &  # bus, store, worker and console, with the data above"
	}
	return []string{
		console, first,
		a.Command("runs") + "  # all runs, and what each waits for",
		a.Command("models pull penguin --to ./penguin --serving") + "  # the folder that TensorFlow Serving takes",
	}
}
