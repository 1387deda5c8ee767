package study

import (
	"context"
	"fmt"
	"io"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/stoker-ml/stoker/compute/tune"
	"github.com/stoker-ml/stoker/compute/tune/report"
	"github.com/stoker-ml/stoker/compute/tune/space"
	"github.com/stoker-ml/stoker/events"
	"github.com/stoker-ml/stoker/functions/admin/access"
	"github.com/stoker-ml/stoker/functions/runs"
	"github.com/stoker-ml/stoker/functions/runs/studies"
	"github.com/stoker-ml/stoker/functions/stoker/app"
	"github.com/stoker-ml/stoker/functions/stoker/terminal"
)

// studyDetail is everything that `stoker studies show` prints of a study.
type studyDetail struct {
	Study    string `json:"study"`
	Pipeline string `json:"pipeline"`
	State    string `json:"state"`
	report.Report

	steps map[string]events.Progress // last reports of running trials
	study tune.Study
}

func detailOf(s studies.State) studyDetail {
	return studyDetail{
		Study: s.Name.ID, Pipeline: s.Name.Pipeline, State: studyState(s.Study), Report: report.Of(&s.Study), study: s.Study,
	}
}

func newStudiesShow(a *app.App) *cobra.Command {
	var follow bool
	cmd := &cobra.Command{
		Use: "show STUDY",
		Annotations: app.Info{Role: access.Console, Output: app.Object, With: "STUDY",
			Always: "study pipeline state algorithm objectives counts best trials", Optional: "validation max_trials parallel begun last finished",
		}.Annotations(),
		Short: "Show a study: its state and its trials",
		Long: "Shows the state of a study. With --follow it continues until the study has ended: with a live table on a terminal, else with a line for\n" +
			"each trial that ends; with -o json it prints the whole study at the end. If the study fails, the exit status is 1.",
		Example: "  stoker studies show penguin/monday\n" +
			"  stoker studies show penguin/monday -f",
		Args:              app.Named("a study"),
		ValidArgsFunction: a.PipelineOrRunNames,
		RunE: func(cmd *cobra.Command, args []string) error {
			return withStudy(cmd.Context(), a, args[0], func(ctx context.Context, bus events.Bus, study events.Study) error {
				if follow {
					return followStudy(ctx, a, bus, study)
				}
				s, err := studies.Read(ctx, bus, study)
				if err != nil {
					return err
				}
				d := detailOf(s)
				return a.Print(d, func(w io.Writer) { d.table(w, 0) })
			})
		},
	}
	cmd.Flags().BoolVarP(&follow, "follow", "f", false, "keep printing until the study has ended")
	return cmd
}

// failedStudy returns the error of a failed study, for a command that waited for its end.
func failedStudy(d studyDetail) error {
	if d.State != studyFailed {
		return nil
	}
	return fmt.Errorf("study %s of pipeline %s failed: %s", terminal.ShortID(d.Study), d.Pipeline, runs.FirstLine(d.Finished.Message))
}

// table prints a study and its newest trials, at most most; 0 is no limit.
func (d studyDetail) table(w io.Writer, most int) {
	terminal.Row(w, "study", terminal.ShortID(d.Study)+" of pipeline "+d.Pipeline)
	terminal.Row(w, "state", d.State+d.what())
	terminal.Row(w, "search", d.search())
	terminal.Row(w, "trials", d.counts())
	for _, trial := range d.Trials {
		if trial.Best {
			terminal.Row(w, "best", fmt.Sprintf("%s  %s  %s", trial.Trial, d.score(trial), ValuesLine(trial.Values)))
		}
	}
	if len(d.Trials) == 0 {
		return
	}
	fmt.Fprintln(w)
	terminal.Row(w, "", "TRIAL", "STATUS", d.scoreName(), "EPOCHS", "TIME", "VALUES")
	trials := d.Trials
	if most > 0 && len(trials) > most {
		trials = trials[len(trials)-most:]
	}
	for _, trial := range trials {
		mark := map[bool]string{true: "*"}[trial.Best]
		terminal.Row(w, mark, trial.Trial, d.status(trial), d.score(trial), epochs(trial), d.time(trial), ValuesLine(trial.Values)+whyFailed(trial))
	}
}

// what describes what a study waits for, or why it has ended.
func (d studyDetail) what() string {
	switch d.State {
	case studyWaiting:
		return ": for a worker"
	case studyEnding:
		return fmt.Sprintf(": %s; %s still running", d.Finished.Why.InWords(), trials(d.Counts.Running))
	case studyFinished, studyFailed:
		words := ": " + d.Finished.Why.InWords()
		switch {
		case d.Finished.Message != "" && d.Finished.Why == tune.Failing:
			// The message includes the number.
			words = ": " + runs.FirstLine(d.Finished.Message)
		case d.Finished.Message != "":
			words += ": " + runs.FirstLine(d.Finished.Message)
		}
		return words
	}
	return ""
}

// trials returns a number of trials in words.
func trials(n int) string {
	if n == 1 {
		return "1 trial"
	}
	return fmt.Sprintf("%d trials", n)
}

// search describes the algorithm and the objective of the search, and the folds that judge trials.
func (d studyDetail) search() string {
	var objectives []string
	for _, o := range d.Objectives {
		objectives = append(objectives, string(o.Direction)+" "+o.Name)
	}
	words := append([]string{d.Algorithm}, objectives...)
	if folds := d.Validation.String(); folds != "" {
		words = append(words, folds)
	}
	return strings.Join(words, ", ")
}

func (d studyDetail) counts() string {
	c := d.Counts
	words := []string{trialsOf(len(d.Trials), promoted(d.Trials), d.MaxTrials)}
	for _, one := range []struct {
		n    int
		word string
	}{{c.Running, d.unended()}, {c.Completed, "completed"}, {c.Stopped, "stopped early"}, {c.Failed, "failed"}, {c.Infeasible, "infeasible"}} {
		if one.n > 0 {
			words = append(words, fmt.Sprintf("%d %s", one.n, one.word))
		}
	}
	return strings.Join(words, ", ")
}

// unended describes what happens to trials that have not ended: nothing if the study has ended and
// none runs.
func (d studyDetail) unended() string {
	if d.State == studyFinished || d.State == studyFailed {
		return "cut short"
	}
	return "running"
}

// promoted counts the trials that resume from another. They don't count against the maximum.
func promoted(all []report.Row) (n int) {
	for _, trial := range all {
		if trial.Parent != "" {
			n++
		}
	}
	return n
}

func (d studyDetail) scoreName() string {
	if len(d.Objectives) == 0 {
		return "SCORE"
	}
	return strings.ToUpper(d.Objectives[0].Name)
}

// score returns the score of a trial; of a running one, the last report.
func (d studyDetail) score(trial report.Row) string {
	if trial.Score != nil {
		return fmt.Sprintf("%.5g", *trial.Score)
	}
	if len(d.Objectives) > 0 {
		if value, there := d.steps[trial.Trial].Metrics[d.Objectives[0].Name]; there {
			return fmt.Sprintf("(%.5g)", value)
		}
	}
	return ""
}

// status returns a trial's status in a word or two, with the step of a running one.
func (d studyDetail) status(trial report.Row) string {
	p := d.steps[trial.Trial]
	switch {
	case trial.Status == tune.Running && p.Steps > 0:
		return fmt.Sprintf("running %d/%d", p.Step, p.Steps)
	case trial.Status == tune.Running && p.Step > 0:
		return fmt.Sprintf("running %d", p.Step)
	case trial.Status == tune.Invalid && d.Finished != nil:
		return d.unended()
	}
	return d.InWords(trial)
}

// whyFailed returns why a trial failed, or fails and is tried again.
func whyFailed(trial report.Row) string {
	if trial.Message == "" || trial.Status == tune.Completed || trial.Status == tune.Running {
		return ""
	}
	return "  (" + runs.FirstLine(strings.TrimSpace(trial.Message)) + ")"
}

func epochs(trial report.Row) string {
	switch {
	case trial.Epochs == 0:
		return ""
	case trial.From > 0:
		return fmt.Sprintf("%d-%d", trial.From, trial.Epochs)
	}
	return fmt.Sprint(trial.Epochs)
}

// time returns how long a trial took; for a running one, the time up to its last entry in the log
// or its last report.
func (d studyDetail) time(trial report.Row) string {
	until := trial.Ended
	if until.IsZero() {
		until = d.Last
		if p := d.steps[trial.Trial]; p.Time.After(until) {
			until = p.Time
		}
	}
	took := max(0, until.Sub(trial.Started))
	switch {
	case took < time.Second:
		return took.Truncate(time.Millisecond).String()
	case took < time.Minute:
		return fmt.Sprintf("%.1fs", took.Seconds())
	}
	return took.Truncate(time.Second).String()
}

// ValuesLine lists a trial's values in their order, without the tuner's own.
func ValuesLine(values space.Values) string {
	var all []string
	for _, value := range slices.DeleteFunc(slices.Clone(values), func(v space.Value) bool { return strings.HasPrefix(v.Name, space.Own) }) {
		text := runs.FirstLine(fmt.Sprint(value.Of))
		if f, ok := value.Of.(float64); ok {
			text = fmt.Sprintf("%.4g", f)
		}
		all = append(all, value.Name+" "+text)
	}
	return strings.Join(all, "  ")
}
