package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/stoker-ml/stoker/compute/export"
	"github.com/stoker-ml/stoker/functions/guest"
	"github.com/stoker-ml/stoker/functions/module"
	"github.com/stoker-ml/stoker/functions/module/modelcheck"
	"github.com/stoker-ml/stoker/functions/pipeline"
	"github.com/stoker-ml/stoker/functions/runs"
	"github.com/stoker-ml/stoker/functions/stoker/terminal"
)

// tried is what try reports.
type tried struct {
	Model     string             `json:"model"`
	Metrics   map[string]float64 `json:"metrics,omitempty"`
	WarmStart *warmStarted       `json:"warm_start,omitempty"`
	Unwritten map[string]string  `json:"unwritten,omitempty"` // formats that the model can't be written in, with the reason
	Log       string             `json:"log,omitempty"`       // what the module printed, if it did
}

// triedLog is the file in --to that holds the module's log.
const triedLog = "log.txt"

func newTry(app *app) *cobra.Command {
	var t tryFlags
	cmd := &cobra.Command{
		Use:   "try MODULE",
		Short: "Train or tune with a module on local files, without a bus or a store",
		Long: "Runs a module as a worker would, on folders of this machine. With --assignment it only prints what the module would be\n" +
			"given, for a debugger: start a Go module's own program with that line on its standard input.\n\n" +
			"With --tune it searches for hyperparameters instead, in one seat, and leaves what a tune job publishes: best_hyperparameters,\n" +
			"for --hyperparameters of the next try, and tuner_results with all trials.\n\n" + tableHelp + " Without --schema it is inferred, as `stoker schema infer` does.",
		Example: `  stoker try builtin:dnn --examples penguins.csv --train-steps 100 --config '{"label": "species"}'
  stoker try builtin:dnn --examples ./transformed_examples --transform-graph ./transform_graph --train-steps 100 --config '{"label": "species"}'
  stoker try builtin:dnn --examples ./transformed_examples --transform-graph ./transform_graph --train-steps 100 --config '{"label": "species"}' --tune
  stoker try ./penguin_utils.py --examples ./transformed_examples --transform-graph ./transform_graph --train-steps 100 --keras 3
  stoker try ./my_module --examples ./examples --schema ./schema.pbtxt --train-steps 100 --assignment > a.json && dlv debug ./my_module < a.json`,
		Args: exactly(1, "a module"),
		RunE: func(cmd *cobra.Command, args []string) error {
			remove, err := app.tryTable(cmd.Context(), &t)
			if err != nil {
				return err
			}
			defer remove()
			a, err := t.assignment(args[0])
			if err != nil {
				return err
			}
			if t.searches() {
				a = tuning(a)
			}
			if t.assignmentOnly {
				return json.NewEncoder(app.stdout.Data(terminal.JSON)).Encode(a)
			}
			if err := errors.Join(t.check(a), checkCompute()); err != nil {
				return err
			}
			if err := app.checkModule(cmd.Context(), a.Module, !t.searches(), t.searches()); err != nil {
				return err
			}
			a.Trace = app.traceOfModule()
			if t.force {
				if err := os.RemoveAll(t.to); err != nil { // check has looked into it
					return err
				}
			}
			if t.searches() {
				return app.trySearch(cmd.Context(), &t, a)
			}
			return app.try(cmd.Context(), t.to, t.model, a)
		},
	}
	t.add(cmd)
	return cmd
}

// try trains in a new folder, and looks for the model that is wanted. What it made of the folder goes again when it fails, so that the next try finds it free.
func (a *app) try(ctx context.Context, to, wanted string, assignment module.Assignment) (err error) {
	if err := os.MkdirAll(filepath.Dir(to), 0o755); err != nil {
		return err
	}
	if err := os.Mkdir(to, 0o755); err != nil {
		return err
	}
	defer func() {
		if err != nil {
			err = errors.Join(err, os.RemoveAll(to))
		}
	}()
	for _, dir := range []string{filepath.Dir(assignment.ServingModelDir), assignment.ModelRunDir, assignment.WorkingDir} {
		if err := os.MkdirAll(dir, 0o755); err != nil {
			return err
		}
	}
	log, err := filepath.Abs(filepath.Join(to, triedLog))
	if err != nil {
		return err
	}
	outcome, err := a.train(ctx, assignment, log)
	if err != nil {
		return err
	}
	if err := checkTried(assignment, wanted, outcome.Unwritten); err != nil {
		return err
	}
	result := tried{assignment.ServingModelDir, outcome.Metrics, a.warmStarted(assignment), outcome.Unwritten, log}
	if outcome.LogBytes == 0 {
		result.Log = ""
	}
	return a.print(result, result.table)
}

func (t tried) table(w io.Writer) {
	terminal.Row(w, "model", t.Model)
	terminal.Row(w, "metrics", runs.Metrics(t.Metrics))
	if t.WarmStart != nil {
		terminal.Row(w, "base model", t.WarmStart)
	}
	for _, format := range slices.Sorted(maps.Keys(t.Unwritten)) {
		terminal.Row(w, "no "+format, t.Unwritten[format])
	}
	if t.Log != "" {
		terminal.Row(w, "log", t.Log)
	}
}

// checkTried refuses what a worker would. Without a pipeline that requires them, a module may say of formats that its model can't be
// written so.
func checkTried(a module.Assignment, wanted string, unwritten map[string]string) error {
	if err := modelcheck.CheckModel(a.ServingModelDir, wanted == pipeline.ModelAny); err != nil {
		return fmt.Errorf("the module wrote no model that can be served: %w", err)
	}
	there := slices.DeleteFunc(slices.Clone(a.Exports), func(format string) bool { _, lacks := unwritten[format]; return lacks })
	return export.Check(filepath.Dir(a.ServingModelDir), there)
}

// train runs the assignment in a child process, as a worker does, with a file for its log. What the module had to say of a failure
// is shown once.
func (a *app) train(ctx context.Context, assignment module.Assignment, log string) (guest.Outcome, error) {
	host, err := a.newGuest(warmFlags{}, 1, "")
	if err != nil {
		return guest.Outcome{}, err
	}
	defer host.Close()
	show := a.display()
	outcome, err := host.Run(ctx, assignment, guest.Limits{LogPath: log}, func(m module.Message) {
		if p, ok := terminal.ProgressOf(m); ok {
			show.Progress(p)
		}
	})
	show.Close()
	return outcome, a.onceTold(err, assignment)
}

// onceTold shows what a module printed of its failure, and leaves the rest to one line.
func (a *app) onceTold(err error, assignment module.Assignment) error {
	failed, ok := errors.AsType[*guest.Error](err)
	if !ok || failed.Kind == guest.KindStopped {
		return err
	}
	if more := runs.Details(err.Error(), failed.LogTail); more != "" {
		fmt.Fprintln(a.notes(), more)
	}
	return runs.OneLine(hinted(err, assignment))
}

// hinted adds to a feature that no record has what it comes of most often: raw examples where transformed ones were expected.
func hinted(err error, a module.Assignment) error {
	if a.Transformed && strings.Contains(err.Error(), "value is required but could not be found") {
		return fmt.Errorf("%w; examples that did not go through the transform graph yet need --raw", err)
	}
	return err
}
