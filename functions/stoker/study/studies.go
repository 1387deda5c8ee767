package study

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/stoker-ml/stoker/compute/tune"
	"github.com/stoker-ml/stoker/compute/tune/report"
	"github.com/stoker-ml/stoker/events"
	"github.com/stoker-ml/stoker/functions/admin/access"
	"github.com/stoker-ml/stoker/functions/runs"
	"github.com/stoker-ml/stoker/functions/runs/query"
	"github.com/stoker-ml/stoker/functions/runs/studies"
	"github.com/stoker-ml/stoker/functions/stoker/app"
	"github.com/stoker-ml/stoker/functions/stoker/exit"
	"github.com/stoker-ml/stoker/functions/stoker/terminal"
)

// studiesInfo describes both `stoker studies` and `stoker studies list`.
var studiesInfo = app.Info{Role: access.Console, Output: app.List, Names: "the id",
	Always: "study pipeline state trials counts updated", Optional: "algorithm promoted max_trials objective best score error",
}

func newStudies(a *app.App) *cobra.Command {
	list := newStudiesList(a)
	cmd := &cobra.Command{
		Use:         "studies",
		GroupID:     app.Look,
		Annotations: studiesInfo.Annotations(),
		Short:       "List, show, stop and export studies",
		Long: "Lists the searches for hyperparameters. Subcommands show, stop and export one.\n\n" +
			"A study is named by PIPELINE/RUN, by a prefix of its id, or by its pipeline alone for that pipeline's newest study.\n" +
			"A search that a module runs inside one job, for example with KerasTuner, has no log and is not listed.",
		Args: app.NoArguments,
		RunE: list.RunE,
	}
	cmd.AddCommand(list, newStudiesShow(a), newStudiesBest(a), newStudiesStop(a), newStudiesExport(a))
	return cmd
}

func newStudiesList(a *app.App) *cobra.Command {
	return &cobra.Command{
		Use:               "list [PIPELINE]",
		Annotations:       studiesInfo.Annotations(),
		Short:             "List studies",
		Example:           "  stoker studies list penguin",
		Args:              cobra.MaximumNArgs(1),
		ValidArgsFunction: a.PipelineNames,
		RunE: func(cmd *cobra.Command, args []string) error {
			return a.WithBus(cmd.Context(), func(ctx context.Context, bus events.Bus) error {
				lines, err := listStudies(ctx, bus, args...)
				if err != nil {
					return err
				}
				none := a.NoneOf(ctx, bus, "studies", strings.Join(args, ""))
				name := func(l studyLine) string { return l.Study }
				return app.PrintList(a, app.Listing[studyLine]{Items: lines, Name: name, Columns: studyColumns, None: none})
			})
		},
	}
}

// studyLine is one line of `stoker studies list`.
type studyLine struct {
	Study     string        `json:"study"`
	Pipeline  string        `json:"pipeline"`
	State     string        `json:"state"`
	Algorithm string        `json:"algorithm,omitempty"`
	Trials    int           `json:"trials"`             // that have started
	Promoted  int           `json:"promoted,omitempty"` // those among them that resume from another
	MaxTrials int           `json:"max_trials,omitempty"`
	Counts    report.Counts `json:"counts"`
	Objective string        `json:"objective,omitempty"`
	Best      string        `json:"best,omitempty"` // trial
	Score     *float64      `json:"score,omitempty"`
	Error     string        `json:"error,omitempty"`
	Updated   time.Time     `json:"updated"`
}

func listStudies(ctx context.Context, bus events.StudyLog, pipelines ...string) ([]studyLine, error) {
	name := ""
	if len(pipelines) > 0 {
		name = pipelines[0]
	}
	list, err := studies.List(ctx, bus, name)
	lines := []studyLine{}
	for _, one := range list {
		lines = append(lines, lineOf(one))
	}
	return lines, err
}

func lineOf(one studies.Listed) studyLine {
	s := one.Study
	all := report.Of(&s)
	line := studyLine{
		Study: one.Name.ID, Pipeline: one.Name.Pipeline, State: studyState(s), Algorithm: s.Config.Algorithm.Name,
		Trials: len(s.Trials), Promoted: promoted(all.Trials), MaxTrials: s.Config.MaxTrials, Counts: all.Counts, Updated: one.Grown,
	}
	if one.Err != nil {
		line.State, line.Error = studyUnclear, one.Err.Error()
		return line
	}
	if len(s.Config.Objectives) > 0 {
		line.Objective = s.Config.Objectives[0].Name
	}
	if best := s.Best(); len(best) > 0 {
		score, _ := s.Score(best[0])
		line.Best, line.Score = best[0].ID, &score
	}
	return line
}

var studyColumns = []app.Column[studyLine]{
	{Head: "STUDY", Of: func(l studyLine) any { return terminal.ShortID(l.Study) }},
	{Head: "PIPELINE", Of: func(l studyLine) any { return l.Pipeline }},
	{Head: "STATE", Of: func(l studyLine) any { return l.State }},
	{Head: "TRIALS", Of: func(l studyLine) any { return trialsOf(l.Trials, l.Promoted, l.MaxTrials) }},
	{Head: "BEST", Of: func(l studyLine) any { return l.best() }},
	{Head: "UPDATED", Of: func(l studyLine) any { return terminal.Time(l.Updated) }},
}

// best describes the best trial known, or the error.
func (l studyLine) best() string {
	switch {
	case l.Error != "":
		return runs.FirstLine(l.Error)
	case l.Score == nil:
		return ""
	}
	return fmt.Sprintf("%s %.5g", l.Objective, *l.Score)
}

// trialsOf returns how many trials there are, and how many may be started.
func trialsOf(begun, promoted, most int) string {
	switch {
	case most == 0:
		return fmt.Sprint(begun)
	case promoted == 0:
		return fmt.Sprintf("%d of %d", begun, most)
	}
	return fmt.Sprintf("%d of %d + %d promoted", begun-promoted, most, promoted)
}

// The states of a study.
const (
	studyWaiting  = "waiting" // for a worker
	studyRunning  = "running"
	studyEnding   = "ending" // finished, but trials are running
	studyFinished = "finished"
	studyFailed   = "failed"
	studyUnclear  = "unclear" // its log can't be read
)

func studyState(s tune.Study) string {
	switch running := len(s.Running()) > 0; {
	case s.Finished != nil && running:
		return studyEnding
	case s.Finished != nil && s.Finished.Why == tune.Failing:
		return studyFailed
	case s.Finished != nil:
		return studyFinished
	case running:
		return studyRunning
	}
	return studyWaiting
}

// withStudy finds the study that the user means and does something with it.
func withStudy(ctx context.Context, a *app.App, word string, do func(context.Context, events.Bus, events.Study) error) error {
	return a.WithBus(ctx, func(ctx context.Context, bus events.Bus) error {
		study, err := query.Study(ctx, bus, word)
		switch {
		case errors.Is(err, events.ErrNotFound):
			pipeline, _, _ := strings.Cut(word, "/")
			return exit.NotFound(fmt.Errorf("no study %s%s; `%s` lists them", word, a.SimilarPipeline(ctx, bus, pipeline), a.Command("studies list")))
		case errors.Is(err, studies.ErrAmbiguous):
			return exit.Usage(err)
		case err != nil:
			return err
		}
		return do(ctx, bus, study)
	})
}

func newStudiesStop(a *app.App) *cobra.Command {
	return &cobra.Command{
		Use:         "stop STUDY",
		Annotations: app.Info{Role: access.Operator}.Annotations(),
		Short:       "Stop a study; keep its best trial",
		Long: "Ends a study: no more trials start, running trials stop with their current metrics, and the best trial so far is published as\n" +
			"if the search had ended. To discard the result, cancel the run.",
		Example:           "  stoker studies stop penguin/monday",
		Args:              app.Named("a study"),
		ValidArgsFunction: a.PipelineOrRunNames,
		RunE: func(cmd *cobra.Command, args []string) error {
			return withStudy(cmd.Context(), a, args[0], func(ctx context.Context, bus events.Bus, study events.Study) error {
				s, err := studies.Stop(ctx, bus, study, "by stoker studies stop")
				if errors.Is(err, studies.ErrFinished) {
					return fmt.Errorf("study %s of pipeline %s has ended already: %s", terminal.ShortID(study.ID), study.Pipeline,
						s.Study.Finished.Why.InWords())
				}
				if err != nil {
					return err
				}
				line := lineOf(studies.Listed{State: s, Grown: s.Study.Last})
				return a.Print(line, func(w io.Writer) { fmt.Fprintln(w, stoppedWords(line)) })
			})
		},
	}
}

func stoppedWords(l studyLine) string {
	words := fmt.Sprintf("study %s of pipeline %s is stopped", terminal.ShortID(l.Study), l.Pipeline)
	if l.Counts.Running > 0 {
		words += "; still running, but asked to stop: " + trials(l.Counts.Running)
	}
	if l.Best == "" {
		return words + "; none is completed yet"
	}
	return words + fmt.Sprintf("; the best so far is %s, %s", l.Best, l.best())
}
