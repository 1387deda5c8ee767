// Package try has the commands that need no deployed Stoker: train or tune on local files, run the
// demo, infer a schema, inspect artifacts, convert a TFX pipeline.
package try

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
	"github.com/spf13/pflag"

	"github.com/stoker-ml/stoker/compute/export"
	"github.com/stoker-ml/stoker/compute/tf/warmstart"
	"github.com/stoker-ml/stoker/functions/module"
	"github.com/stoker-ml/stoker/functions/module/modelcheck"
	"github.com/stoker-ml/stoker/functions/pipeline"
	"github.com/stoker-ml/stoker/functions/runner"
	"github.com/stoker-ml/stoker/functions/runs"
	"github.com/stoker-ml/stoker/functions/stoker/app"
	"github.com/stoker-ml/stoker/functions/stoker/exit"
	"github.com/stoker-ml/stoker/functions/stoker/modules"
	"github.com/stoker-ml/stoker/functions/stoker/table"
	"github.com/stoker-ml/stoker/functions/stoker/terminal"
)

// Commands returns the commands of the group.
func Commands(a *app.App) []*cobra.Command {
	return []*cobra.Command{
		newDemo(a),
		newTry(a),
		newInspect(a),
		newSchema(a),
		newFromTFX(a),
	}
}

// tried is the result of try.
type tried struct {
	Model     string             `json:"model"`
	Metrics   map[string]float64 `json:"metrics,omitempty"`
	WarmStart *warmStarted       `json:"warm_start,omitempty"`
	// Formats in which the model can't be written, with the reason.
	Unwritten map[string]string `json:"unwritten,omitempty"`
	Log       string            `json:"log,omitempty"` // the module's output, if any
}

// triedLog is the file in --to that holds the module's log.
const triedLog = "log.txt"

func newTry(a *app.App) *cobra.Command {
	var t tryFlags
	cmd := &cobra.Command{
		Use:         "try MODULE",
		GroupID:     app.Start,
		Annotations: app.Info{Role: app.NoRole}.Annotations(),
		Short:       "Train or tune a module on local files",
		Long: "Runs a module like a worker, on folders of this machine. With --assignment it only prints the module's assignment,\n" +
			"for a debugger: start a Go module's own program with that line on its standard input.\n\n" +
			"With --tune it searches for hyperparameters instead, one trial at a time, and writes the outputs of a tune job: best_hyperparameters,\n" +
			"for --hyperparameters of the next try, and tuner_results with all trials.\n\n" + table.TableHelp + " Without --schema the schema is inferred as by `stoker schema infer`.",
		Example: `  stoker try builtin:dnn --examples penguins.csv --train-steps 100 --config '{"label": "species"}'
  stoker try builtin:dnn --examples ./transformed_examples --transform-graph ./transform_graph --train-steps 100 --config '{"label": "species"}'
  stoker try builtin:dnn --examples ./transformed_examples --transform-graph ./transform_graph --train-steps 100 --config '{"label": "species"}' --tune
  stoker try ./penguin_utils.py --examples ./transformed_examples --transform-graph ./transform_graph --train-steps 100 --keras 3
  stoker try ./my_module --examples ./examples --schema ./schema.pbtxt --train-steps 100 --assignment > a.json && dlv debug ./my_module < a.json`,
		Args: app.Exactly(1, "a module"),
		RunE: func(cmd *cobra.Command, args []string) error { return t.run(cmd.Context(), a, args[0]) },
	}
	t.add(cmd)
	return cmd
}

// run tries the named module.
func (t *tryFlags) run(ctx context.Context, a *app.App, name string) (err error) {
	source, err := t.module(name)
	if err == nil { // a table may take long
		err = t.checkEarly(source)
	}
	if err != nil {
		return err
	}
	converted, err := tryTable(ctx, a, t)
	if err != nil {
		return err
	}
	defer func() {
		err = converted.Explain(ctx, err)
		converted.Remove()
	}()
	assignment, err := t.assignment(source)
	if err != nil {
		return err
	}
	if t.searches() {
		assignment = tuning(assignment)
	}
	if t.assignmentOnly {
		return json.NewEncoder(a.Stdout.Data(terminal.JSON)).Encode(assignment)
	}
	if err := errors.Join(t.check(assignment), app.CheckCompute()); err != nil {
		return err
	}
	if err := modules.CheckModule(ctx, a, source, !t.searches(), t.searches()); err != nil {
		return err
	}
	assignment.Trace = a.TraceOfModule()
	if t.force {
		if err := os.RemoveAll(t.to); err != nil { // check has examined it
			return err
		}
	}
	if t.searches() {
		return trySearch(ctx, a, t, assignment)
	}
	return tryModule(ctx, a, t.to, t.model, assignment)
}

// tryModule trains in a new folder, and checks for the wanted model. Without one it removes the
// folder, so that the next try can use it.
func tryModule(ctx context.Context, a *app.App, to, wanted string, assignment module.Assignment) (err error) {
	err = os.MkdirAll(filepath.Dir(to), 0o755)
	if err == nil {
		err = os.Mkdir(to, 0o755)
	}
	if err != nil {
		return fmt.Errorf("--to %s: %w: name another folder", to, app.Cause(err))
	}
	made := false
	defer func() {
		if !made {
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
	outcome, err := train(ctx, a, assignment, log)
	if err != nil {
		return err
	}
	if err := checkTried(assignment, wanted, outcome.Unwritten); err != nil {
		return err
	}
	made = true
	result := tried{assignment.ServingModelDir, outcome.Metrics, findWarmStart(a, assignment), outcome.Unwritten, log}
	if outcome.LogBytes == 0 {
		result.Log = ""
	}
	if strings.HasPrefix(assignment.Module.Path, module.BuiltinPrefix) {
		printWarnings(a.Notes(), log)
	}
	return a.Print(result, result.table)
}

// printWarnings prints the warnings in the log of a compiled-in module, and a note if it can't be
// read: the model does not depend on it.
func printWarnings(w io.Writer, log string) {
	text, err := os.ReadFile(log)
	if err != nil {
		fmt.Fprintf(w, "the warnings of the module are not shown: %v\n", err)
	}
	for line := range strings.Lines(string(text)) {
		if _, warning, ok := strings.Cut(line, " level=WARN msg="); ok {
			fmt.Fprint(w, "warning: ", warning)
		}
	}
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

// checkTried returns the errors that a worker would return. Without a pipeline that requires them,
// a module may leave out formats in which its model can't be written.
func checkTried(a module.Assignment, wanted string, unwritten map[string]string) error {
	if err := modelcheck.CheckModel(a.ServingModelDir, wanted == pipeline.ModelAny); err != nil {
		return fmt.Errorf("the module wrote no servable model: %w", err)
	}
	there := slices.DeleteFunc(slices.Clone(a.Exports), func(format string) bool { _, lacks := unwritten[format]; return lacks })
	return export.Check(filepath.Dir(a.ServingModelDir), there)
}

// train runs the assignment in a child process, like a worker, with a file for its log. The
// module's output about a failure is shown once.
func train(ctx context.Context, a *app.App, assignment module.Assignment, log string) (runner.Outcome, error) {
	host, err := modules.NewRunner(a, modules.WarmFlags{}, 1, "")
	if err != nil {
		return runner.Outcome{}, err
	}
	defer host.Close()
	show := a.Display()
	outcome, err := host.Run(ctx, assignment, runner.Limits{LogPath: log}, func(m module.Message) {
		if p, ok := terminal.ProgressOf(m); ok {
			show.Progress(p)
		}
	})
	show.Close()
	return outcome, reportedOnce(a, err, assignment)
}

// reportedOnce prints a module's output about its failure, and shortens the error to one line.
func reportedOnce(a *app.App, err error, assignment module.Assignment) error {
	failed, ok := errors.AsType[*runner.Error](err)
	if !ok || failed.Kind == runner.KindStopped {
		return err
	}
	if more := runs.Details(err.Error(), failed.LogTail); more != "" {
		fmt.Fprintln(a.Notes(), more)
	}
	return runs.OneLine(hinted(err, assignment))
}

// hinted adds to the error of a feature that no record has its most frequent cause: raw examples
// where transformed ones were expected.
func hinted(err error, a module.Assignment) error {
	if a.Transformed && strings.Contains(err.Error(), "value is required but could not be found") {
		return fmt.Errorf("%w; if the examples are not transformed yet, add --raw", err)
	}
	return err
}

// warmStarted is the result of --base-model.
type warmStarted struct {
	BaseModel string `json:"base_model"`
	Params    int    `json:"params"` // of the new model
	Taken     int    `json:"taken"`  // of these from the base model
	Table     string `json:"table"`  // file with all of them
}

// findWarmStart reads the table that compiled-in modules write to model_run. It returns nil without
// a base model, and also, with a warning, if there is no table: then only the module knows what it
// started from.
func findWarmStart(a *app.App, assignment module.Assignment) *warmStarted {
	if assignment.BaseModel == "" {
		return nil
	}
	var table warmstart.Table
	text, err := os.ReadFile(filepath.Join(assignment.ModelRunDir, warmstart.TableFile+".json"))
	if err == nil {
		err = json.Unmarshal(text, &table)
	}
	if err != nil || len(table.Params) == 0 {
		fmt.Fprintf(a.Notes(), "the module did not report what it loaded from --base-model %s (%s.json in model_run): it may not have used the base model\n",
			assignment.BaseModel, warmstart.TableFile)
		return nil
	}
	return &warmStarted{assignment.BaseModel, len(table.Params), table.Taken(), filepath.Join(assignment.ModelRunDir, warmstart.TableFile+".txt")}
}

func (w warmStarted) String() string {
	return fmt.Sprintf("%d of %d params taken from %s, see %s", w.Taken, w.Params, w.BaseModel, w.Table)
}

// addPython adds the flags for the keys of a module in a pipeline.
func (t *tryFlags) addPython(flags *pflag.FlagSet) {
	flags.StringVar(&t.source.RunFn, "run-fn", "", "of a TFX module: dotted name of the function, like my_module.run_fn")
	flags.StringVar(&t.source.Python, "python", "", "of a TFX module: interpreter with TensorFlow, or its environment's folder; "+
		"default: STOKER_PYTHON, else the environment of stoker python setup")
	flags.StringVar(&t.source.Keras, "keras", "", "of a TFX module: 2, 3, or auto to detect the version")
	flags.IntVar(&t.workers, "workers", 1, "of a TFX module: processes that train one model together, by MultiWorkerMirroredStrategy")
	flags.StringArrayVar(&t.source.Requirements, "requirements", nil, "of a TFX module: a package in addition to those of its environment, "+
		"like humanize>=4; repeatable")
}

// module returns the module as a pipeline would describe it.
func (t *tryFlags) module(name string) (module.Source, error) {
	source := t.source
	source.Path = name
	if !modules.IsPath(name) && !strings.HasPrefix(name, module.BuiltinPrefix) {
		return source, exit.Usage(fmt.Errorf("%s: expected builtin:<name> or a path on this machine", name))
	}
	var wrong []error
	keras := []string{module.KerasAuto, module.Keras2, module.Keras3}
	if source.Keras != "" && !slices.Contains(keras, source.Keras) {
		wrong = append(wrong, fmt.Errorf("--keras %s: expected one of %s", source.Keras, strings.Join(keras, ", ")))
	}
	for _, text := range source.Requirements {
		if _, err := module.ParseRequirement(text); err != nil {
			wrong = append(wrong, fmt.Errorf("--requirements: %w", err))
		}
	}
	if len(wrong) > 0 {
		return source, exit.Usage(errors.Join(wrong...))
	}
	return modules.RelativeTo(".", source)
}

func (t *tryFlags) checkModel() error {
	if models := []string{pipeline.ModelSaved, pipeline.ModelAny}; !slices.Contains(models, t.model) {
		return exit.Usage(fmt.Errorf("--model %s: expected one of %s", t.model, strings.Join(models, ", ")))
	}
	return nil
}
