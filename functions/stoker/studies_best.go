package main

import (
	"context"
	"fmt"
	"io"

	"github.com/spf13/cobra"

	"github.com/stoker-ml/stoker/compute/tune/report"
	"github.com/stoker-ml/stoker/events"
	"github.com/stoker-ml/stoker/functions/runs"
	"github.com/stoker-ml/stoker/functions/stoker/terminal"
	"github.com/stoker-ml/stoker/functions/studies"
)

func newStudiesBest(app *app) *cobra.Command {
	return &cobra.Command{
		Use:   "best STUDY",
		Short: "Show the best trial of a study: its score, values and metrics",
		Long: "Shows the best trial of a study so far. Where a study has several objectives there may be more than one: those that no other\n" +
			"trial is better than in all of them.",
		Args:              exactly(1, "a study"),
		ValidArgsFunction: app.pipelineNames,
		RunE: func(cmd *cobra.Command, args []string) error {
			return app.withStudy(cmd.Context(), args[0], func(ctx context.Context, box events.Letterbox, study events.Study) error {
				s, err := studies.Read(ctx, box, study)
				if err != nil {
					return err
				}
				d, best := detailOf(s), []report.Row{}
				for _, trial := range d.Trials {
					if trial.Best {
						best = append(best, trial)
					}
				}
				return app.print(best, func(w io.Writer) { bestTable(w, d, best) })
			})
		},
	}
}

func bestTable(w io.Writer, d studyDetail, best []report.Row) {
	if len(best) == 0 {
		terminal.Row(w, "no trial is completed: "+d.counts())
	}
	for _, trial := range best {
		terminal.Row(w, "trial", trial.Trial)
		for _, value := range trial.Values {
			terminal.Row(w, "  "+value.Name, value.Of)
		}
		terminal.Row(w, "metrics", runs.Metrics(trial.Metrics))
		if trial.Score != nil {
			terminal.Row(w, "score", d.score(trial)+atStep(trial))
		}
	}
}

// atStep is where a trial had its score, which is the best of its course: what it came to in the end is among its metrics.
func atStep(trial report.Row) string {
	if trial.Step == 0 {
		return ""
	}
	return fmt.Sprintf(" at step %d", trial.Step)
}
