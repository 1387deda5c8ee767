package try

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/spf13/pflag"

	"github.com/stoker-ml/stoker/compute/tune"
	"github.com/stoker-ml/stoker/compute/tune/report"
	"github.com/stoker-ml/stoker/functions/execution/tuner"
	"github.com/stoker-ml/stoker/functions/execution/tuner/search"
	"github.com/stoker-ml/stoker/functions/module"
	"github.com/stoker-ml/stoker/functions/pipeline"
	"github.com/stoker-ml/stoker/functions/runner"
	"github.com/stoker-ml/stoker/functions/stoker/app"
	"github.com/stoker-ml/stoker/functions/stoker/exit"
	"github.com/stoker-ml/stoker/functions/stoker/modules"
	"github.com/stoker-ml/stoker/functions/stoker/study"
	"github.com/stoker-ml/stoker/functions/stoker/terminal"
)

// searchFlags are the flags of `stoker try` that search for hyperparameters instead of training.
type searchFlags struct {
	tune, studyOnly bool
	trials          int
	algorithm       string
}

func (s *searchFlags) add(flags *pflag.FlagSet) {
	flags.BoolVar(&s.tune, "tune", false, "search for hyperparameters instead of training, one trial after another")
	flags.BoolVar(&s.studyOnly, "study", false, "print what --tune would search for, as JSON, and do nothing else")
	flags.IntVar(&s.trials, "trials", 0, "with --tune: maximum number of trials; default: the module's")
	flags.StringVar(&s.algorithm, "algorithm", "", "with --tune: "+strings.Join(tune.Algorithms(), ", ")+"; default: the module's")
}

func (s *searchFlags) searches() bool { return s.tune || s.studyOnly }

func (s *searchFlags) check(a module.Assignment) error {
	tfx := runner.IsTFX(a.Module.Path)
	switch {
	case !s.searches() && (s.trials != 0 || s.algorithm != ""):
		return exit.Usage(errors.New("--trials and --algorithm apply only to a search: add --tune"))
	case s.studyOnly && tfx:
		return exit.Usage(fmt.Errorf("--study: %s has a tuner_fn, whose search space is known only when it runs", a.Module.Path))
	case tfx && (s.trials != 0 || s.algorithm != ""):
		return exit.Usage(fmt.Errorf("--trials and --algorithm: the tuner_fn of %s sets both", a.Module.Path))
	}
	return app.Within("trials", s.trials, 0, app.AnyCount)
}

// search returns the search that overrides the module's.
func (s *searchFlags) search(a module.Assignment) pipeline.Search {
	study := &pipeline.Study{MaxTrials: s.trials}
	if s.algorithm != "" {
		study.Algorithm = &pipeline.Algorithm{Name: s.algorithm}
	}
	return pipeline.Search{Study: study, Seed: a.Seed}
}

// tuning turns a training's assignment into that of a search.
func tuning(a module.Assignment) module.Assignment {
	to := filepath.Dir(a.WorkingDir)
	a.Call, a.ServingModelDir, a.EvalModelDir, a.ModelRunDir, a.Exports = module.CallTune, "", "", "", nil
	a.BestHyperparametersDir, a.TunerResultsDir = filepath.Join(to, triedBest), filepath.Join(to, triedResults)
	return a
}

// The folders of a search in --to.
const (
	triedBest    = "best_hyperparameters"
	triedResults = "tuner_results"
)

// searched is the result of try for a search.
type searched struct {
	BestHyperparameters string         `json:"best_hyperparameters"` // folders
	TunerResults        string         `json:"tuner_results"`
	Study               *report.Report `json:"study,omitempty"` // unknown for a tuner_fn
	Log                 string         `json:"log,omitempty"`
}

// trySearch searches in a new folder, which it removes after an error.
func trySearch(ctx context.Context, a *app.App, t *tryFlags, assignment module.Assignment) (err error) {
	if err := os.MkdirAll(t.to, 0o755); err != nil {
		return err
	}
	defer func() {
		if err != nil || t.studyOnly {
			err = errors.Join(err, os.RemoveAll(t.to))
		}
	}()
	for _, dir := range []string{assignment.WorkingDir, assignment.BestHyperparametersDir, assignment.TunerResultsDir} {
		if err := os.MkdirAll(dir, 0o755); err != nil {
			return err
		}
	}
	host, err := modules.NewRunner(a, modules.WarmFlags{}, 1, "")
	if err != nil {
		return err
	}
	defer host.Close()
	session, err := host.Open(ctx, assignment.Module)
	if err != nil {
		return err
	}
	defer session.Close()
	return searchIn(ctx, a, t, assignment, session)
}

// searchIn asks the module for its search, and runs it, unless only the search was requested or the
// module has searched by itself.
func searchIn(ctx context.Context, a *app.App, t *tryFlags, assignment module.Assignment, session *runner.Session) error {
	show := a.Display()
	defer show.Close()
	var said json.RawMessage
	outcome, err := session.Run(ctx, assignment, runner.Limits{LogPath: filepath.Join(filepath.Dir(assignment.WorkingDir), triedLog)}, func(m module.Message) {
		if m.Type == module.MessageStudy {
			said = m.Study
		} else if p, ok := terminal.ProgressOf(m); ok {
			show.Progress(p)
		}
	})
	if err != nil {
		return reportedOnce(a, err, assignment)
	}
	found := searched{BestHyperparameters: assignment.BestHyperparametersDir, TunerResults: assignment.TunerResultsDir}
	if outcome.LogBytes > 0 {
		found.Log = filepath.Join(filepath.Dir(assignment.WorkingDir), triedLog)
	}
	if said == nil {
		show.Close()
		return a.Print(found, found.table)
	}
	alone := search.Local{
		Wanted: said, Search: t.search(assignment), Base: assignment, Dir: filepath.Join(filepath.Dir(assignment.WorkingDir), "trials"),
		OnStudy:   func(study tune.Study) { show.Progress(tuner.Progress(study)) },
		OnMessage: func(module.Message) {},
		Run: func(ctx context.Context, assignment module.Assignment, on func(module.Message)) (runner.Outcome, error) {
			return session.Run(ctx, assignment, runner.Limits{}, on)
		},
	}
	if t.studyOnly {
		return printConfig(a, alone)
	}
	study, err := alone.Make(ctx)
	show.Close()
	if err != nil {
		return reportedOnce(a, err, assignment)
	}
	made := report.Of(&study)
	found.Study = &made
	return errors.Join(a.Print(found, found.table), os.RemoveAll(alone.Dir))
}

// printConfig prints the search.
func printConfig(a *app.App, alone search.Local) error {
	config, err := alone.Config()
	if err != nil {
		return err
	}
	encoder := json.NewEncoder(a.Stdout.Data(terminal.JSON))
	encoder.SetIndent("", "  ")
	return encoder.Encode(config)
}

// shownTrials is how many of the best trials are printed.
const shownTrials = 10

func (s searched) table(w io.Writer) {
	if s.Study != nil {
		s.trials(w)
	}
	terminal.Row(w, "best", s.BestHyperparameters)
	terminal.Row(w, "results", s.TunerResults)
	if s.Log != "" {
		terminal.Row(w, "log", s.Log)
	}
}

// trials prints rows of the best trials, and how many there were.
func (s searched) trials(w io.Writer) {
	objective := s.Study.Objectives[0]
	rows := slices.DeleteFunc(slices.Clone(s.Study.Trials), func(r report.Row) bool { return r.Score == nil })
	slices.SortStableFunc(rows, func(a, b report.Row) int {
		switch {
		case objective.Direction.Better(*a.Score, *b.Score):
			return -1
		case objective.Direction.Better(*b.Score, *a.Score):
			return 1
		}
		return 0
	})
	terminal.Row(w, "trial", objective.Name, "values")
	for _, r := range rows[:min(len(rows), shownTrials)] {
		terminal.Row(w, r.Trial, fmt.Sprintf("%.6g", *r.Score), study.ValuesLine(r.Values))
	}
	if left := len(s.Study.Trials) - min(len(rows), shownTrials); left > 0 {
		terminal.Row(w, "...", "", fmt.Sprintf("%d more, %d of them failed", left, s.Study.Counts.Failed))
	}
	fmt.Fprintln(w)
}
