package main

import (
	"context"
	"io"
	"time"

	"github.com/spf13/cobra"

	"github.com/stoker-ml/stoker/events"
	"github.com/stoker-ml/stoker/functions/runs"
	"github.com/stoker-ml/stoker/functions/runs/find"
	"github.com/stoker-ml/stoker/functions/stoker/terminal"
)

func newRuns(app *app) *cobra.Command {
	var pipelineName string
	cmd := &cobra.Command{
		Use:   "runs",
		Short: "List runs: what each waits for, and what came of it",
		Args:  noArguments,
		RunE: func(cmd *cobra.Command, _ []string) error {
			return app.withBus(cmd.Context(), func(ctx context.Context, box events.Letterbox) error {
				runs, err := find.List(ctx, box, pipelineName)
				if err != nil {
					return err
				}
				return app.print(runs, func(w io.Writer) { runsTable(w, runs) })
			})
		},
	}
	cmd.Flags().StringVar(&pipelineName, "pipeline", "", "only runs of this pipeline")
	cmd.AddCommand(newRunsShow(app), newRunsRerun(app))
	return cmd
}

func runsTable(w io.Writer, runs []runs.State) {
	terminal.Row(w, "PIPELINE", "RUN", "STATE", "UPDATED", "WHAT")
	for _, run := range runs {
		terminal.Row(w, run.Pipeline, run.Run, run.Headline(), run.Updated.Local().Format(time.DateTime), run.What())
	}
}
