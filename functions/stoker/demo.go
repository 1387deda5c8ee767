package main

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
	"github.com/stoker-ml/stoker/functions/stoker/exit"
	"github.com/stoker-ml/stoker/functions/stoker/terminal"
	"github.com/stoker-ml/stoker/local"
	"github.com/stoker-ml/stoker/local/demo"
)

func newDemo(app *app) *cobra.Command {
	var keep bool
	cmd := &cobra.Command{
		Use:   "demo",
		Short: "Train a real model from one event, on this machine, with nothing set up",
		Long: "Starts the local stack, applies the penguin pipeline, uploads artifacts that TFX made, publishes the facts that\n" +
			"upstream would publish, and shows the model that comes out.",
		Args: noArguments,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if err := checkCompute(); err != nil {
				return err
			}
			err := app.withStack(cmd.Context(), app.stackOptions(), func(ctx context.Context, stack *local.Stack) error {
				if !keep {
					return app.demo(ctx, stack)
				}
				return app.withConsole(ctx, defaultConsole, stack, nil, func(ctx context.Context, url, token string) error {
					fmt.Fprintf(app.notes(), "watch it at %s\n", url)
					return app.keepDemo(ctx, stack, url, token)
				})
			})
			return exit.Interrupted(cmd.Context(), err, "data stays in "+app.dataDir)
		},
	}
	cmd.Flags().BoolVar(&keep, "keep", false, "go on running, as up does, with the console")
	return cmd
}

// keepDemo goes on behind the demo, as up does.
func (a *app) keepDemo(ctx context.Context, stack *local.Stack, console, token string) error {
	outcome, err := a.tryDemo(ctx, stack)
	if err == nil {
		err = a.reportDemo(outcome, true)
	}
	if err != nil {
		return err
	}
	a.announce(stack, console, token)
	return stack.Wait(ctx)
}

func (a *app) demo(ctx context.Context, stack *local.Stack) error {
	outcome, err := a.tryDemo(ctx, stack)
	if err != nil {
		return err
	}
	return a.reportDemo(outcome, false)
}

// tryDemo acts as upstream: pipeline, artifacts, facts; and then waits, as downstream would.
func (a *app) tryDemo(ctx context.Context, stack *local.Stack) (outcome events.Fact, err error) {
	if err := applyDemo(ctx, stack.Box); err != nil {
		return outcome, err
	}
	artifacts := stack.Root.Join("demo", demo.PipelineName)
	if err := demo.Upload(ctx, stack.Store, artifacts); err != nil {
		return outcome, err
	}
	run := "demo-" + time.Now().UTC().Format("20060102-150405.000")
	fmt.Fprintf(a.notes(), "stoker demo: data in %s\n", a.dataDir)
	fmt.Fprintf(a.notes(), "publishing hparams.ready and transform.ready for run %s\n", run)
	facts := demo.Facts(artifacts, run)
	for i := range facts {
		a.goOn(&facts[i])
	}
	return a.follow(ctx, stack.Box, facts)
}

func applyDemo(ctx context.Context, box events.Letterbox) error {
	spec, err := pipeline.Parse(demo.PipelineFile())
	if err != nil {
		return err
	}
	_, _, err = dispatch.Apply(ctx, box, spec)
	return err
}

// reportDemo prints the event that came out and what to try next.
func (a *app) reportDemo(outcome events.Fact, keep bool) error {
	trained, ok := outcome.Data.(*events.ModelTrained)
	if !ok {
		describe(a.stderr, outcome)
		return fmt.Errorf("the demo's run ended in %s", outcome.Data.Kind())
	}
	if a.forPrograms() {
		return a.print(runs.JSON(outcome), nil)
	}
	fmt.Fprintf(a.stdout, "%s\n\n", indent(runs.JSON(outcome)))
	return a.print(nil, func(w io.Writer) {
		terminal.Row(w, "model", trained.Model.URI)
		terminal.Row(w, "accuracy", fmt.Sprintf("%.3f on the eval split", trained.Metrics["accuracy"]))
		if trained.Cached {
			fmt.Fprint(w, "\nNothing was trained: a run before this one had the same inputs, module and settings, so that this run got its model.\n"+
				"With an empty --data folder it trains anew.\n")
		}
		fmt.Fprint(w, "\nTry next:\n")
		a.nextCommands(w, keep)
	})
}

// nextCommands are what a newcomer may want to see after the demo, ready to be typed.
func (a *app) nextCommands(w io.Writer, keep bool) {
	if !keep {
		terminal.Row(w, "  "+a.command("up")+" &", "# the stack again, with what it knows")
	}
	terminal.Row(w, "  "+a.command("runs"), "# every run, and what it waits for")
	terminal.Row(w, "  "+a.command("models pull penguin --to ./penguin --serving"), "# the folder that TensorFlow Serving takes")
}
