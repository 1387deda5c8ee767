package main

import (
	"context"
	"errors"
	"fmt"
	"io"

	"github.com/spf13/cobra"

	"github.com/stoker-ml/stoker/events"
	"github.com/stoker-ml/stoker/functions/studies"
)

func newStudiesStop(app *app) *cobra.Command {
	return &cobra.Command{
		Use:   "stop STUDY",
		Short: "Stop a study: the best so far counts",
		Long: "Ends a study: no trial is begun any more, those that run are stopped with what they have, and the best so far is published as\n" +
			"if the search had come to its end. To have no result of it, cancel its run.",
		Args:              exactly(1, "a study"),
		ValidArgsFunction: app.pipelineNames,
		RunE: func(cmd *cobra.Command, args []string) error {
			return app.withStudy(cmd.Context(), args[0], func(ctx context.Context, box events.Letterbox, study events.Study) error {
				s, err := studies.Stop(ctx, box, study, "by stoker studies stop")
				if errors.Is(err, studies.ErrFinished) {
					return fmt.Errorf("study %s of pipeline %s has ended already: %s", shortID(study.ID), study.Pipeline,
						s.Study.Finished.Why.InWords())
				}
				if err != nil {
					return err
				}
				line := lineOf(studies.Listed{State: s, Grown: s.Study.Last})
				return app.print(line, func(w io.Writer) { fmt.Fprintln(w, stoppedWords(line)) })
			})
		},
	}
}

func stoppedWords(l studyLine) string {
	words := fmt.Sprintf("study %s of pipeline %s is stopped", shortID(l.Study), l.Pipeline)
	if l.Counts.Running > 0 {
		words += "; running still, and asked to end: " + trials(l.Counts.Running)
	}
	if l.Best == "" {
		return words + "; none is completed yet"
	}
	return words + fmt.Sprintf("; the best so far is %s, %s", l.Best, l.best())
}
