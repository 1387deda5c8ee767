package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"

	"github.com/spf13/cobra"

	"github.com/stoker-ml/stoker/compute/savedmodel"
	"github.com/stoker-ml/stoker/events"
	"github.com/stoker-ml/stoker/functions/guest"
	"github.com/stoker-ml/stoker/functions/module"
)

// trial holds the flags of `stoker try`.
type trial struct {
	examples, transformGraph, schema, hyperparameters, config, to string
	trainSteps, evalSteps                                         int
	seed                                                          int64
	assignmentOnly                                                bool
}

// tried is what try reports.
type tried struct {
	Model   string             `json:"model"`
	Metrics map[string]float64 `json:"metrics,omitempty"`
}

func newTry(app *app) *cobra.Command {
	var t trial
	cmd := &cobra.Command{
		Use:   "try MODULE",
		Short: "Train once with a module on local files, without a bus or a store",
		Long: "Runs a module as a worker would, on folders of this machine. With --assignment it only prints what the module would be\n" +
			"given, for a debugger: start the module's own program with that line on its standard input.",
		Example: `  stoker try builtin:dnn --examples ./transformed_examples --transform-graph ./transform_graph --train-steps 100 --config '{"label": "species"}'
  stoker try ./my_module --examples ./examples --schema ./schema.pbtxt --train-steps 100 --assignment > a.json && dlv debug ./my_module < a.json`,
		Args: exactly(1, "a module"),
		RunE: func(cmd *cobra.Command, args []string) error {
			a, err := t.assignment(args[0])
			if err != nil {
				return err
			}
			if t.assignmentOnly {
				return json.NewEncoder(app.stdout).Encode(a)
			}
			return app.try(cmd.Context(), a)
		},
	}
	flags := cmd.Flags()
	flags.StringVar(&t.examples, "examples", "", "folder of an Examples artifact, with Split-train and Split-eval")
	flags.StringVar(&t.transformGraph, "transform-graph", "", "folder of a TransformGraph artifact; the examples went through it already")
	flags.StringVar(&t.schema, "schema", "", "schema.pbtxt; default: the one inside the transform graph")
	flags.StringVar(&t.hyperparameters, "hyperparameters", "", "best_hyperparameters.txt")
	flags.StringVar(&t.config, "config", "{}", "custom_config as JSON")
	flags.StringVar(&t.to, "to", "stoker-try", "folder for the model; must not be there yet")
	flags.IntVar(&t.trainSteps, "train-steps", 0, "training steps; 0: the module decides")
	flags.IntVar(&t.evalSteps, "eval-steps", 0, "evaluation steps; 0: the whole split")
	flags.Int64Var(&t.seed, "seed", 0, "seed of everything random")
	flags.BoolVar(&t.assignmentOnly, "assignment", false, "print the assignment and do nothing")
	_ = cmd.MarkFlagRequired("examples")
	return cmd
}

// assignment puts together what a worker would have staged.
func (t trial) assignment(name string) (module.Assignment, error) {
	a := module.Assignment{
		Version: module.ProtocolVersion, Module: name, Call: module.CallTrain, Shards: 1, Seed: t.seed,
		TrainSteps: positive(t.trainSteps), EvalSteps: positive(t.evalSteps), Transformed: t.transformGraph != "",
	}
	if err := json.Unmarshal([]byte(t.config), &a.CustomConfig); err != nil {
		return a, usage(fmt.Errorf("--config: %w", err))
	}
	if t.hyperparameters != "" {
		text, err := os.ReadFile(t.hyperparameters)
		if err != nil {
			return a, err
		}
		if err := json.Unmarshal(text, &a.Hyperparameters); err != nil {
			return a, fmt.Errorf("%s: %w", t.hyperparameters, err)
		}
	}
	return a, t.paths(&a)
}

// paths fills in absolute paths and makes the folders that a module may count on.
func (t trial) paths(a *module.Assignment) error {
	schema := t.schema
	if schema == "" && t.transformGraph != "" {
		schema = filepath.Join(t.transformGraph, "transformed_metadata", "schema.pbtxt")
	}
	if _, err := os.Stat(t.to); err == nil {
		return usage(fmt.Errorf("--to %s: is there already", t.to))
	}
	for path, to := range map[string]*string{
		schema: &a.SchemaPath, t.transformGraph: &a.TransformGraphPath, t.to + "/working": &a.WorkingDir,
		t.to + "/model/Format-Serving": &a.ServingModelDir, t.to + "/model/Format-TFMA": &a.EvalModelDir, t.to + "/model_run": &a.ModelRunDir,
	} {
		if path == "" {
			continue
		}
		absolute, err := filepath.Abs(path)
		if err != nil {
			return err
		}
		*to = absolute
	}
	examples, err := filepath.Abs(t.examples)
	a.TrainFiles = []string{filepath.Join(examples, "Split-train", "*")}
	a.EvalFiles = []string{filepath.Join(examples, "Split-eval", "*")}
	if isPath(a.Module) && err == nil {
		a.Module, err = filepath.Abs(a.Module)
	}
	return err
}

func positive(n int) *int {
	if n <= 0 {
		return nil
	}
	return &n
}

// try runs the assignment in a child process, as a worker does, and checks the model.
func (a *app) try(ctx context.Context, assignment module.Assignment) error {
	for _, dir := range []string{filepath.Dir(assignment.ServingModelDir), assignment.ModelRunDir, assignment.WorkingDir} {
		if err := os.MkdirAll(dir, 0o755); err != nil {
			return err
		}
	}
	host, err := a.newGuest()
	if err != nil {
		return err
	}
	defer host.Close()
	show := a.newDisplay()
	outcome, err := host.Run(ctx, assignment, guest.Limits{}, func(m module.Message) {
		show.progress(events.Progress{Phase: m.Phase, Step: m.Step, Steps: m.Steps, Metrics: m.Metrics})
	})
	show.close()
	if failed, ok := errors.AsType[*guest.Error](err); ok && !strings.Contains(err.Error(), strings.TrimSpace(failed.LogTail)) {
		fmt.Fprintf(a.stderr, "end of the module's log:\n%s\n", failed.LogTail)
	}
	if err != nil {
		return err
	}
	if err := savedmodel.Check(assignment.ServingModelDir); err != nil {
		return fmt.Errorf("the module wrote no model that can be served: %w", err)
	}
	return a.print(tried{assignment.ServingModelDir, outcome.Metrics}, func(w io.Writer) {
		row(w, "model", assignment.ServingModelDir)
		row(w, "metrics", metricsLine(outcome.Metrics))
	})
}
