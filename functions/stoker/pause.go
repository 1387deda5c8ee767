package main

import (
	"context"
	"fmt"
	"io"

	"github.com/spf13/cobra"

	"github.com/stoker-ml/stoker/events"
	"github.com/stoker-ml/stoker/functions/dispatch"
)

// paused is what pause and resume report.
type paused struct {
	Pipeline string `json:"pipeline"`
	Paused   bool   `json:"paused"`
	Waiting  int    `json:"waiting"` // runs at the gate
}

func newPause(app *app) *cobra.Command {
	return newGateCommand(app, dispatch.Pause, &cobra.Command{
		Use:   "pause PIPELINE",
		Short: "Hold the runs of a pipeline from now on; jobs that are on the queue go on",
	})
}

func newResume(app *app) *cobra.Command {
	return newGateCommand(app, dispatch.Resume, &cobra.Command{
		Use:   "resume PIPELINE",
		Short: "Let the runs of a paused pipeline go on, as many as its concurrency allows",
	})
}

// newGateCommand completes a command that changes a pipeline's gate.
func newGateCommand(app *app, change func(context.Context, events.Letterbox, string) error, cmd *cobra.Command) *cobra.Command {
	cmd.Args = exactly(1, "a pipeline")
	cmd.ValidArgsFunction = app.pipelineNames
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		return app.withBus(cmd.Context(), func(ctx context.Context, box events.Letterbox) error {
			if err := change(ctx, box, args[0]); err != nil {
				return err
			}
			gate, err := dispatch.GateOf(ctx, box, args[0])
			if err != nil {
				return err
			}
			now := paused{args[0], gate.Paused, len(gate.Waiting)}
			return app.print(now, func(w io.Writer) {
				fmt.Fprintf(w, "pipeline %s %s, %d runs wait\n", now.Pipeline, map[bool]string{true: "is paused", false: "goes on"}[now.Paused], now.Waiting)
			})
		})
	}
	return cmd
}
