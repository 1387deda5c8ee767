package main

import (
	"context"
	"fmt"
	"io"

	"github.com/spf13/cobra"

	"github.com/stoker-ml/stoker/compute/tune"
	"github.com/stoker-ml/stoker/compute/tune/report"
	"github.com/stoker-ml/stoker/events"
	"github.com/stoker-ml/stoker/functions/runs"
	"github.com/stoker-ml/stoker/functions/studies"
)

// studyDetail is everything that `stoker studies show` knows of a study.
type studyDetail struct {
	Study    string `json:"study"`
	Pipeline string `json:"pipeline"`
	State    string `json:"state"`
	report.Report

	steps map[string]events.Progress // what running trials reported last
	study tune.Study
}

func detailOf(s studies.State) studyDetail {
	return studyDetail{
		Study: s.Name.ID, Pipeline: s.Name.Pipeline, State: studyState(s.Study), Report: report.Of(&s.Study), study: s.Study,
	}
}

func newStudiesShow(app *app) *cobra.Command {
	var follow bool
	cmd := &cobra.Command{
		Use:   "show STUDY",
		Short: "Show a study: its trials, the best so far, and what it waits for",
		Long: "Shows a study as it stands. With --follow it goes on until the study has ended: a live table on a terminal, elsewhere a line for\n" +
			"each trial that ends, and with -o json the whole study once it has ended. A study that failed is an error then.",
		Args:              exactly(1, "a study"),
		ValidArgsFunction: app.pipelineNames,
		RunE: func(cmd *cobra.Command, args []string) error {
			return app.withStudy(cmd.Context(), args[0], func(ctx context.Context, box events.Letterbox, study events.Study) error {
				if follow {
					return app.followStudy(ctx, box, study)
				}
				s, err := studies.Read(ctx, box, study)
				if err != nil {
					return err
				}
				d := detailOf(s)
				return app.print(d, func(w io.Writer) { d.table(w, 0) })
			})
		},
	}
	cmd.Flags().BoolVarP(&follow, "follow", "f", false, "go on until the study has ended")
	return cmd
}

// failedStudy is the error of a study that failed, for who waited for its end.
func failedStudy(d studyDetail) error {
	if d.State != studyFailed {
		return nil
	}
	return fmt.Errorf("study %s of pipeline %s failed: %s", shortID(d.Study), d.Pipeline, runs.FirstLine(d.Finished.Message))
}
