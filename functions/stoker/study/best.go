package study

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/spf13/cobra"

	"github.com/stoker-ml/stoker/compute/tune/report"
	"github.com/stoker-ml/stoker/events"
	"github.com/stoker-ml/stoker/functions/admin/access"
	"github.com/stoker-ml/stoker/functions/runs"
	"github.com/stoker-ml/stoker/functions/runs/studies"
	"github.com/stoker-ml/stoker/functions/stoker/app"
	"github.com/stoker-ml/stoker/functions/stoker/exit"
	"github.com/stoker-ml/stoker/functions/stoker/terminal"
)

func newStudiesBest(a *app.App) *cobra.Command {
	return &cobra.Command{
		Use: "best STUDY",
		Annotations: app.Info{Role: access.Console, Output: app.List, With: "STUDY",
			Always: "trial status best score tries values", Optional: "job attempt worker step parent from epochs bracket round iteration stopped breaks_constraints started ended seconds metrics message",
		}.Annotations(),
		Short: "Show the best trial of a study",
		Long: "Shows the best trial of a study so far. A study with several objectives may have more than one: those that no other\n" +
			"trial beats in all objectives.",
		Example:           "  stoker studies best penguin/monday",
		Args:              app.Named("a study"),
		ValidArgsFunction: a.PipelineOrRunNames,
		RunE: func(cmd *cobra.Command, args []string) error {
			return withStudy(cmd.Context(), a, args[0], func(ctx context.Context, bus events.Bus, study events.Study) error {
				s, err := studies.Read(ctx, bus, study)
				if err != nil {
					return err
				}
				d, best := detailOf(s), []report.Row{}
				for _, trial := range d.Trials {
					if trial.Best {
						best = append(best, trial)
					}
				}
				return a.Print(best, func(w io.Writer) { bestTable(w, d, best) })
			})
		},
	}
}

func bestTable(w io.Writer, d studyDetail, best []report.Row) {
	if len(best) == 0 {
		terminal.Row(w, "no trial is completed yet: "+d.counts())
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

// atStep returns the step of a trial's score, which is the best of its course; the final value is
// among its metrics.
func atStep(trial report.Row) string {
	if trial.Step == 0 {
		return ""
	}
	return fmt.Sprintf(" at step %d", trial.Step)
}

func newStudiesExport(a *app.App) *cobra.Command {
	var to string
	var asCSV, asJSON bool
	cmd := &cobra.Command{
		Use:         "export STUDY (--to DIR | --csv | --json)",
		Annotations: app.Info{Role: access.Console}.Annotations(),
		Short:       "Export a study as CSV, JSON or for TensorBoard",
		Long: "Writes all trials of a study with their values, scores and metrics: --csv and --json to standard output, --to into a folder,\n" +
			"which gets trials.csv, study.json, the log itself, and event files for TensorBoard's HParams page.",
		Example: "  stoker studies export penguin/monday --csv > trials.csv\n" +
			"  stoker studies export penguin/monday --to ./search && tensorboard --logdir ./search",
		Args:              app.Named("a study"),
		ValidArgsFunction: a.PipelineOrRunNames,
		RunE: func(cmd *cobra.Command, args []string) error {
			if to == "" && !asCSV && !asJSON {
				return exit.Usage(errors.New("expected --to DIR, --csv or --json"))
			}
			return withStudy(cmd.Context(), a, args[0], func(ctx context.Context, bus events.Bus, study events.Study) error {
				s, err := studies.Read(ctx, bus, study)
				switch {
				case err != nil:
					return err
				case asCSV:
					return report.Of(&s.Study).CSV(a.Stdout.Data("csv"))
				case asJSON:
					return report.Of(&s.Study).JSON(a.Stdout.Data(terminal.JSON))
				}
				if err := exportStudy(ctx, bus, s, to); err != nil {
					return err
				}
				return a.Print(map[string]string{"path": to}, func(w io.Writer) { fmt.Fprintln(w, to) })
			})
		},
	}
	cmd.Flags().StringVar(&to, "to", "", "folder to write to: a new one, or an empty one")
	cmd.Flags().BoolVar(&asCSV, "csv", false, "print a row for each trial")
	cmd.Flags().BoolVar(&asJSON, "json", false, "print the study and its trials")
	cmd.MarkFlagsMutuallyExclusive("to", "csv", "json")
	return cmd
}

// exportStudy writes to a folder, which must be empty: TensorBoard merges all event files that it
// finds.
func exportStudy(ctx context.Context, bus events.StudyLog, s studies.State, dir string) error {
	if there, err := os.ReadDir(dir); len(there) > 0 || err != nil && !errors.Is(err, fs.ErrNotExist) {
		return exit.Usage(fmt.Errorf("export to %s: expected a new folder, or an empty one", dir))
	}
	if err := report.Write(dir, &s.Study, 0); err != nil {
		return fmt.Errorf("export to %s: %w", dir, err)
	}
	log, err := os.Create(filepath.Join(dir, report.LogFile))
	if err != nil {
		return err
	}
	return errors.Join(studies.Copy(ctx, bus, s, log), log.Close())
}
