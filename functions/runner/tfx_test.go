//go:build tfx

package runner_test

import (
	_ "embed"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stoker-ml/stoker/compute/tf/tftest"
	"github.com/stoker-ml/stoker/functions/module"
	"github.com/stoker-ml/stoker/functions/runner"
	"github.com/stoker-ml/stoker/functions/runner/python"
)

//go:embed testdata/tfx/prepare.py
var prepareScript string

//go:embed testdata/tfx/judge.py
var judgeScript string

//go:embed testdata/tfx/rewrite.py
var rewriteScript string

// example is one of the module files in TFX's own wheel, unchanged.
type example struct {
	folder string // in the wheel: only its files are copied
	name   string // dotted, below the folder
	data   string // penguin: the demo's; taxi: the example's; else made by prepare.py
	raw    bool   // it takes raw examples and a schema, and no transform graph
	steps  int
	keras  string // the Keras that it needs, and its log names
	label  string // of raw examples
	// Least share of the evaluation's examples that its model has right; for taxi, see tipped in
	// judge.py.
	atLeast float64
}

// There are few steps, so the shares are far below those of a real training; each is well above
// that of a model that learned nothing (penguin: 0.44; ten digits: 0.1; reviews: 0.5).
var trained = map[string]example{
	"penguin":          {"examples/penguin", "penguin_utils_keras", "penguin", false, 100, "3", "species", 0.8},
	"penguin template": {"experimental/templates/penguin", "models.model", "penguin", true, 200, "2", "species", 0.8},
	"penguin sklearn":  {"examples/penguin", "experimental.penguin_utils_sklearn", "penguin", true, 5000, "3", "species", 0.8},
	"taxi":             {"examples/chicago_taxi_pipeline", "taxi_utils", "taxi", false, 1500, "3", "tips", 2},
	"taxi keras":       {"examples/chicago_taxi_pipeline", "taxi_utils_native_keras", "taxi", false, 1500, "3", "tips", 2},
	"taxi template":    {"experimental/templates/taxi", "models.keras_model.model", "taxi", false, 300, "3", "tips", 1},
	"trainer_module":   {"components/testdata/module_file", "trainer_module", "taxi", false, 1500, "3", "tips", 2},
	"mnist":            {"examples/mnist", "mnist_utils_native_keras", "digits", false, 300, "3", "image_class", 0.8},
	"imdb":             {"examples/imdb", "imdb_utils_native_keras", "reviews", false, 200, "3", "label", 0.8},
}

// TFX's own example modules train unchanged, with the Keras found out, and their models answer as
// they should.
func TestTFXExampleModulesTrain(t *testing.T) {
	t.Parallel()
	r, wheel, shim := exampleRunner(t), wheelOfTFX(t), laidShim(t)
	for name, e := range trained {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			root := e.copied(t, wheel)
			a, examples := e.assignment(t, root, shim)
			limits := runner.Limits{LogPath: filepath.Join(t.TempDir(), "log")}
			outcome, err := r.Run(t.Context(), a, limits, nil)
			if err != nil {
				t.Fatal(err, outcome.LogTail)
			}
			if log, err := os.ReadFile(limits.LogPath); err != nil || !strings.Contains(string(log), "stoker: Keras "+e.keras) {
				t.Errorf("log %v doesn't say that Keras %s was chosen: %.1000s", err, e.keras, log)
			}
			var right float64
			tftest.Run(t, judgeScript+rideScript, map[string]any{
				"shim": shim, "model": a.ServingModelDir, "examples": examples, "label": e.label,
			}, &right)
			if right < e.atLeast {
				t.Errorf("its model has %.2f of the examples right, want %.2f", right, e.atLeast)
			}
		})
	}
}

// The same for tuner_fn: the results are written as TFX's Tuner writes them.
func TestTFXExampleModulesTune(t *testing.T) {
	t.Parallel()
	r, wheel, shim := exampleRunner(t), wheelOfTFX(t), laidShim(t)
	for name, e := range map[string]example{
		"penguin":      {folder: "examples/penguin", name: "penguin_utils_keras", data: "penguin", steps: 20},
		"tuner_module": {folder: "components/testdata/module_file", name: "tuner_module", data: "penguin", raw: true, steps: 20},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			root := e.copied(t, wheel)
			a, _ := e.assignment(t, root, shim)
			a.Call, a.Module.TunerFn, a.Module.RunFn = module.CallTune, strings.TrimSuffix(a.Module.RunFn, "run_fn")+"tuner_fn", ""
			a.ServingModelDir, a.EvalModelDir, a.ModelRunDir = "", "", ""
			a.BestHyperparametersDir, a.TunerResultsDir = filepath.Join(t.TempDir(), "best"), filepath.Join(t.TempDir(), "results")
			outcome, err := r.Run(t.Context(), a, runner.Limits{}, nil)
			if err != nil {
				t.Fatal(err, outcome.LogTail)
			}
			best, err := os.ReadFile(filepath.Join(a.BestHyperparametersDir, "best_hyperparameters.txt"))
			if err != nil || !strings.Contains(string(best), `"num_layers": `) {
				t.Errorf("best hyperparameters %s, %v", best, err)
			}
			if _, err := os.Stat(filepath.Join(a.TunerResultsDir, "tuner_results.json")); err != nil {
				t.Error(err)
			}
		})
	}
}

// Models are rewritten to TFLite with every quantization. A model that takes serialized examples
// can't be, and the converters of some versions of TensorFlow abort on it: the module gets an
// error, and continues.
func TestTFXExampleModelIsRewritten(t *testing.T) {
	t.Parallel()
	r, e, shim := exampleRunner(t), trained["penguin"], laidShim(t)
	a, _ := e.assignment(t, e.copied(t, wheelOfTFX(t)), shim)
	if outcome, err := r.Run(t.Context(), a, runner.Limits{}, nil); err != nil {
		t.Fatal(err, outcome.LogTail)
	}
	type made struct{ Bytes, Error float64 }
	var got struct {
		Models  map[string]made
		Refused map[string]string
	}
	given := map[string]string{"shim": shim, "serving": a.ServingModelDir, "dir": t.TempDir()}
	tftest.Run(t, rewriteScript, given, &got)
	// Weights are 4*4352 bytes as float32. Outputs are around 1; an 8-bit weight is off by 1/256 of
	// the largest one.
	for name, want := range map[string]made{
		"float32": {21000, 1e-5}, "dynamic": {10000, 0.05}, "float16": {12000, 0.005}, "int8": {10000, 0.05},
	} {
		if m := got.Models[name]; m.Bytes == 0 || m.Bytes > want.Bytes || m.Error > want.Error {
			t.Errorf("%s: a model of %.0f bytes that is off by %g, want at most %+v", name, m.Bytes, m.Error, want)
		}
	}
	for name, part := range map[string]string{
		"serving":   "ParseExampleV2", // TFLite lacks it
		"setting":   "ValueError: TFLiteConverter has no setting 'no_such_setting'",
		"signature": "ValueError: Invalid signature key 'nope' found. Valid keys are 'serving_default,transform_features'.",
	} {
		if !strings.Contains(got.Refused[name], part) {
			t.Errorf("%s: %s, want %q in it", name, got.Refused[name], part)
		}
	}
	// That of TensorFlow 2.16 aborts.
	var older map[string]string
	const alone = `
def check(given):
    sys.path.append(given["shim"])
    return refused(given["dir"], given["serving"])
`
	given["dir"] = t.TempDir()
	tftest.RunAnalysis(t, rewriteScript+alone, given, &older)
	if !strings.Contains(older["serving"], "the TFLite converter was ended by SIGABRT: LLVM ERROR") {
		t.Errorf("TensorFlow 2.16 says %s, want that its converter was ended by SIGABRT", older["serving"])
	}
}

// copied copies the example's directory into a directory of the test's, at the same path below tfx,
// and returns that directory.
func (e example) copied(t *testing.T, wheel string) string {
	t.Helper()
	root := t.TempDir()
	err := fs.WalkDir(os.DirFS(wheel), e.folder, func(path string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() || !strings.HasSuffix(path, ".py") {
			return err
		}
		text, err := os.ReadFile(filepath.Join(wheel, path))
		if err != nil {
			return err
		}
		to := filepath.Join(root, "tfx", path)
		if err := os.MkdirAll(filepath.Dir(to), 0o755); err != nil {
			return err
		}
		return os.WriteFile(to, text, 0o600)
	})
	if err != nil {
		t.Fatal(err)
	}
	return root
}

// assignment returns an assignment that trains the example, and raw examples to judge it by.
func (e example) assignment(t *testing.T, root, shim string) (module.Assignment, string) {
	t.Helper()
	dotted := "tfx." + strings.ReplaceAll(e.folder, "/", ".") + "." + e.name
	a := taxiAssignment(t, module.Source{Path: root, RunFn: dotted + ".run_fn"}, e.steps)
	a.EvalSteps = new(5)
	data := e.data
	switch data {
	case "taxi":
		return a, ""
	case "penguin":
		demo, err := filepath.Abs("../../local/demo/data")
		if err != nil {
			t.Fatal(err)
		}
		data = demo
	default:
		data = t.TempDir()
		var done bool
		given := map[string]string{"root": root, "shim": shim, "module": dotted, "data": e.data, "dir": data}
		tftest.Run(t, prepareScript, given, &done)
	}
	a.TransformGraphPath = filepath.Join(data, "transform_graph")
	a.SchemaPath = filepath.Join(a.TransformGraphPath, "metadata", "schema.pbtxt")
	examples := "transformed_examples"
	if e.raw {
		examples, a.TransformGraphPath, a.Transformed = "examples", "", false
	}
	a.TrainFiles = []string{filepath.Join(data, examples, "Split-train", "*")}
	a.EvalFiles = []string{filepath.Join(data, examples, "Split-eval", "*")}
	return a, filepath.Join(data, "examples", "Split-eval", "*")
}

// wheelOfTFX returns the directory tfx of TFX's wheel, whose dependencies are incomplete: it was
// installed for its files.
func wheelOfTFX(t *testing.T) string {
	t.Helper()
	const where = "import tfx; print(list(tfx.__path__)[0])"
	out, err := exec.CommandContext(t.Context(), tftest.AnalysisPython(t), "-c", where).Output()
	if err != nil {
		t.Fatal(err)
	}
	return strings.TrimSpace(string(out))
}

func exampleRunner(t *testing.T) *runner.Runner {
	t.Helper()
	r, err := runner.New(runner.Options{Python: tftest.Python(t), CacheDir: t.TempDir()})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(r.Close)
	return r
}

func laidShim(t *testing.T) string {
	t.Helper()
	layout, err := python.Lay(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	return layout.Shim
}
