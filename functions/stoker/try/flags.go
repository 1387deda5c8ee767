package try

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/stoker-ml/stoker/compute/data/examplegen"
	"github.com/stoker-ml/stoker/compute/tf/warmstart"
	"github.com/stoker-ml/stoker/functions/module"
	"github.com/stoker-ml/stoker/functions/pipeline"
	"github.com/stoker-ml/stoker/functions/stoker/app"
	"github.com/stoker-ml/stoker/functions/stoker/exit"
	"github.com/stoker-ml/stoker/functions/stoker/modules"
	"github.com/stoker-ml/stoker/functions/stoker/table"
)

// tryFlags are the flags of `stoker try`.
type tryFlags struct {
	examples, transformGraph, schema, hyperparameters, baseModel, config, to string
	trainSteps, evalSteps                                                    int
	seed                                                                     int64
	exports                                                                  []string
	raw, assignmentOnly                                                      bool
	// Except for its path.
	source  module.Source
	model   string
	force   bool
	workers int
	split   table.SplitFlags // for a table
	searchFlags
}

func (t *tryFlags) add(cmd *cobra.Command) {
	flags := cmd.Flags()
	flags.StringVar(&t.examples, "examples", "", "folder of an Examples artifact, with Split-train and Split-eval, or a table")
	flags.StringVar(&t.transformGraph, "transform-graph", "", "folder of a TransformGraph artifact; the examples are already transformed, unless --raw")
	flags.BoolVar(&t.raw, "raw", false, "with --transform-graph: the examples are raw, and the module transforms them")
	flags.StringVar(&t.schema, "schema", "", "schema.pbtxt, or its folder; default: the one inside the transform graph")
	flags.StringVar(&t.hyperparameters, "hyperparameters", "", "best_hyperparameters.txt, or its folder")
	flags.StringVar(&t.baseModel, "base-model", "", "model to start from: folder of a Model artifact, a SavedModel or a checkpoint")
	flags.StringVar(&t.config, "config", "{}", "custom_config as JSON")
	flags.StringVar(&t.to, "to", "stoker-try", "folder for the model; it must not exist yet")
	flags.IntVar(&t.trainSteps, "train-steps", 0, "training steps; 0: the module decides (Keras's fit never ends with a repeated dataset)")
	flags.IntVar(&t.evalSteps, "eval-steps", 0, "evaluation steps; 0: the whole split")
	flags.StringSliceVar(&t.exports, "exports", nil, "formats to write in addition to the SavedModel: some of "+strings.Join(module.Formats(), ", "))
	flags.Int64Var(&t.seed, "seed", 0, "random seed")
	flags.BoolVar(&t.force, "force", false, "replace the output of an earlier try in --to")
	flags.BoolVar(&t.assignmentOnly, "assignment", false, "print the assignment and exit")
	flags.StringVar(&t.model, "model", pipeline.ModelSaved, "required output: saved_model, or any model that is not empty")
	t.split.Add(flags)
	t.addPython(flags)
	t.searchFlags.add(flags)
	_ = cmd.MarkFlagRequired("examples")
}

// checkEarly finds the mistakes that need no examples.
func (t *tryFlags) checkEarly(source module.Source) error {
	if _, err := t.customConfig(); err != nil || t.assignmentOnly {
		return err
	}
	return modules.CheckPath(source)
}

func (t *tryFlags) customConfig() (config map[string]any, err error) {
	if err := json.Unmarshal([]byte(t.config), &config); err != nil {
		return nil, exit.Usage(fmt.Errorf(`--config: expected JSON like {"label": "species"}, in single quotes for a shell: %w`, app.JSONError(err)))
	}
	return config, nil
}

// assignment builds the assignment that a worker would have staged. It reads only the
// hyperparameters and creates nothing.
func (t *tryFlags) assignment(source module.Source) (module.Assignment, error) {
	a := module.Assignment{
		Version: module.ProtocolVersion, Module: source, Call: module.CallTrain, Shards: 1, Seed: t.seed,
		TrainSteps: positive(t.trainSteps), EvalSteps: positive(t.evalSteps), Transformed: t.transformGraph != "" && !t.raw,
		Exports: t.exports,
	}
	if t.workers > 1 {
		a.Workers, a.Strategy = t.workers, module.StrategyMultiWorker
	}
	err := errors.Join(app.Within("train-steps", t.trainSteps, 0, app.AnyCount), app.Within("eval-steps", t.evalSteps, 0, app.AnyCount),
		app.Within("workers", t.workers, 1, module.MaxWorkers), t.checkExports(), t.checkModel())
	if err != nil {
		return a, err
	}
	if a.CustomConfig, err = t.customConfig(); err != nil {
		return a, err
	}
	if t.hyperparameters != "" {
		text, err := os.ReadFile(fileIn(t.hyperparameters, "best_hyperparameters.txt"))
		if err != nil {
			return a, err
		}
		if err := json.Unmarshal(text, &a.Hyperparameters); err != nil {
			return a, fmt.Errorf("%s: %w", t.hyperparameters, err)
		}
	}
	return a, t.paths(&a)
}

func (t *tryFlags) checkExports() error {
	for _, name := range t.exports {
		if !slices.Contains(module.Formats(), name) {
			return exit.Usage(fmt.Errorf("--exports %s: expected some of %s", name, strings.Join(module.Formats(), ", ")))
		}
	}
	return nil
}

func positive(n int) *int {
	if n <= 0 {
		return nil
	}
	return &n
}

// paths makes the paths absolute.
func (t *tryFlags) paths(a *module.Assignment) error {
	if t.transformGraph != "" {
		t.schema = cmp.Or(t.schema, filepath.Join(t.transformGraph, metadata(a.Transformed), schemaFile))
	}
	if t.baseModel != "" {
		serving, err := warmstart.Serving(t.baseModel)
		if err != nil {
			return fmt.Errorf("--base-model %s: %w", t.baseModel, err)
		}
		t.baseModel = serving
	}
	var train, eval string
	for _, p := range []struct {
		path string
		to   *string
	}{
		{fileIn(t.schema, schemaFile), &a.SchemaPath}, {t.transformGraph, &a.TransformGraphPath}, {t.baseModel, &a.BaseModel},
		{filepath.Join(t.examples, "Split-train", "*"), &train}, {filepath.Join(t.examples, "Split-eval", "*"), &eval},
		{filepath.Join(t.to, "working"), &a.WorkingDir}, {filepath.Join(t.to, "model_run"), &a.ModelRunDir},
		{filepath.Join(t.to, "model", "Format-Serving"), &a.ServingModelDir}, {filepath.Join(t.to, "model", "Format-TFMA"), &a.EvalModelDir},
	} {
		if err := absolute(p.path, p.to); err != nil {
			return err
		}
	}
	a.TrainFiles, a.EvalFiles = []string{train}, []string{eval}
	return nil
}

// schemaFile is the only file of a Schema artifact.
const schemaFile = "schema.pbtxt"

// metadata returns the folder of a transform graph whose schema fits the examples.
func metadata(transformed bool) string {
	if transformed {
		return "transformed_metadata"
	}
	return "metadata"
}

// fileIn returns the file of that name in path, if path is the artifact's folder; else path itself.
func fileIn(path, name string) string {
	inside := filepath.Join(path, name)
	if _, err := os.Stat(inside); path == "" || err != nil {
		return path
	}
	return inside
}

// absolute keeps "".
func absolute(path string, to *string) (err error) {
	if path != "" {
		*to, err = filepath.Abs(path)
	}
	return err
}

// check returns the errors that are known before anything is created.
func (t *tryFlags) check(a module.Assignment) error {
	if err := t.checkTo(); err != nil {
		return err
	}
	if _, err := os.Stat(t.examples); t.examples != "" && errors.Is(err, fs.ErrNotExist) {
		if strings.HasPrefix(t.examples, "s3://") {
			return exit.Usage(fmt.Errorf("--examples %s: expected a path on this machine: `stoker try` reads no store", t.examples))
		}
		return exit.NotFound(fmt.Errorf("--examples %s: no such file or folder: expected a folder with Split-train and Split-eval, or a table (%s)", t.examples, examplegen.Formats))
	}
	for _, split := range []string{"Split-train", "Split-eval"} {
		if err := isFolder(filepath.Join(t.examples, split)); err != nil {
			return fmt.Errorf("--examples %s: expected a folder with Split-train and Split-eval: %w", t.examples, err)
		}
	}
	if err := t.searchFlags.check(a); err != nil {
		return err
	}
	switch {
	case t.raw && t.transformGraph == "":
		return exit.Usage(errors.New("--raw needs --transform-graph"))
	case t.transformGraph != "":
		if err := isFolder(t.transformGraph); err != nil {
			return fmt.Errorf("--transform-graph: %w", err)
		}
	}
	if t.baseModel != "" {
		if _, err := os.Stat(t.baseModel); err != nil {
			return fmt.Errorf("--base-model: %w", err)
		}
	}
	if t.schema != "" {
		if _, err := os.Stat(t.schema); err != nil {
			return fmt.Errorf("schema: %w", err)
		}
	}
	return nil
}

// checkTo returns an error if the folder exists; with --force only if it holds something other than
// a try.
func (t *tryFlags) checkTo() error {
	if _, err := os.Lstat(t.to); err != nil {
		return nil
	}
	if !t.force {
		return exit.Usage(fmt.Errorf("--to %s: it already exists: remove it, or give --force or another --to", t.to))
	}
	entries, err := os.ReadDir(t.to)
	if err != nil {
		return fmt.Errorf("--to: %w", err)
	}
	for _, entry := range entries {
		made := entry.Name() == triedLog || entry.IsDir() && slices.Contains([]string{"model", "model_run", "working", "trials", triedBest, triedResults}, entry.Name())
		if !made {
			return exit.Usage(fmt.Errorf("--to %s: it holds %s, which no try wrote: give another --to", t.to, entry.Name()))
		}
	}
	return nil
}

func isFolder(path string) error {
	info, err := os.Stat(path)
	if err == nil && !info.IsDir() {
		return fmt.Errorf("%s is not a folder", path)
	}
	return err
}
