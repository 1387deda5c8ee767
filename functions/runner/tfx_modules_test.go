package runner_test

import (
	"archive/zip"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stoker-ml/stoker/compute/export"
	"github.com/stoker-ml/stoker/compute/tf/tftest"
	"github.com/stoker-ml/stoker/functions/module"
	"github.com/stoker-ml/stoker/functions/runner"
)

// entry is a module by its files, and the function that is called.
type entry struct {
	name   string
	files  map[string]string
	path   string // of the module, below its files' directory; "": that directory
	fn     string // as in a pipeline's module.run_fn
	logged string // logged if it is done
	says   string // the error if it isn't
}

// called returns the text of a module whose function reports its name.
func called(fn string) string {
	return "def " + fn + "(fn_args):\n    print('called', __name__, " + "'" + fn + "')\n"
}

func entries() []entry {
	siblings := map[string]string{
		"model.py":    "import features\nfrom tfx.examples.ours import more\n" + called("run_fn") + "    print(features.KEY, more.KEY)\n",
		"features.py": "KEY = 'a sibling'",
	}
	siblings["tfx/examples/ours/more.py"] = "KEY = 'one below tfx'"
	return []entry{
		{name: "run_fn of a file",
			files: map[string]string{"penguin.py": called("run_fn")},
			path:  "penguin.py", logged: "called penguin run_fn"},
		{name: "another function of a file",
			files: map[string]string{"penguin.py": called("train")},
			path:  "penguin.py", fn: "train",
			logged: "called penguin train"},
		{name: "a file that the pipeline names with the function",
			files: map[string]string{"a.py": called("run_fn"), "b.py": called("run_fn")},
			fn:    "b.run_fn", logged: "called b run_fn"},
		{name: "a module of a package",
			files: map[string]string{"pkg/__init__.py": "", "pkg/sub/mod.py": "from pkg import other\n" + called("go"),
				"pkg/other.py": ""}, fn: "pkg.sub.mod.go", logged: "called pkg.sub.mod go"},
		{name: "siblings, as plain modules and below tfx",
			files: siblings,
			path:  "", logged: "a sibling one below tfx"},
		{name: "a name with a dash",
			files: map[string]string{"my-penguin.py": called("run_fn")},
			path:  "my-penguin.py", logged: "called my-penguin"},
		{name: "a name that Python has taken",
			files: map[string]string{"json.py": called("run_fn")},
			path:  "json.py", logged: "called user_module_json"},
		{name: "a script that leaves behind its model",
			files: map[string]string{"m.py": "import os, sys\ndef run_fn(a):\n    os.makedirs(a.serving_model_dir + '/x')\n" +
				"    print('leaves')\n    sys.exit(0)\n"}, path: "m.py", logged: "leaves"},

		{name: "trainer_fn that saves by itself",
			files: map[string]string{"penguin.py": "import os\ndef trainer_fn(fn_args):\n    os.makedirs(fn_args.serving_model_dir)\n" +
				"    open(fn_args.serving_model_dir + '/model.txt', 'w').close()\n    print('saved by itself')\n"},
			path: "penguin.py", logged: "saved by itself"},
		{name: "trainer_fn that saves by itself and returns something else",
			files: map[string]string{"penguin.py": "import os\ndef trainer_fn(fn_args, schema=None):\n    os.makedirs(fn_args.serving_model_dir)\n" +
				"    open(fn_args.serving_model_dir + '/model.txt', 'w').close()\n    print('saved, schema', schema)\n    return {'loss': 1}\n"},
			path: "penguin.py", logged: "saved, schema None"},
		{name: "trainer_fn that does nothing", files: map[string]string{"penguin.py": "def trainer_fn(fn_args):\n    pass\n"}, path: "penguin.py",
			says: "ValueError: trainer_fn must return a dict of ['estimator', 'eval_input_receiver_fn', 'eval_spec', 'train_spec'], " +
				"or save a model in fn_args.serving_model_dir: it returned a NoneType and wrote no model"},

		{name: "no function", files: map[string]string{"penguin.py": "X = 1"}, path: "penguin.py",
			says: "AttributeError: module 'penguin' has no attribute 'run_fn': expected a function run_fn(fn_args), or trainer_fn(fn_args, schema); " +
				"name another one in the pipeline, as in run_fn: penguin.my_run_fn"},
		{name: "not the function that is named",
			files: map[string]string{"penguin.py": called("run_fn")},
			path:  "penguin.py", fn: "penguin.nope",
			says: "AttributeError: module 'penguin' has no attribute 'nope'"},
		{name: "no such path",
			files: map[string]string{"penguin.py": called("run_fn")},
			path:  "penguin.py", fn: "nope.mod.run_fn",
			says: "ImportError: Could not import requested module path 'nope.mod'."},
		{name: "no function but a value", files: map[string]string{"penguin.py": "run_fn = 3"}, path: "penguin.py",
			says: "TypeError: run_fn of module 'penguin' has type int, expected a function"},
		{name: "no Python",
			files: map[string]string{"penguin.py": "x = 1\ndef run_fn(fn_args:\n    pass\n"},
			path:  "penguin.py", says: "penguin.py:2: SyntaxError: "},
		{name: "a package that is not there",
			files: map[string]string{"penguin.py": "import sklearn_but_not_really.tree\n" + called("run_fn")},
			path:  "penguin.py",
			says: "penguin.py:1: ModuleNotFoundError: No module named 'sklearn_but_not_really' (add the package to the pipeline: " +
				"module.requirements: [sklearn-but-not-really], or --requirements sklearn-but-not-really of `stoker try`; or, " +
				"if it is a file of yours, to the module's folder)"},
		{name: "an error in a sibling",
			files: map[string]string{"penguin.py": "import features\ndef run_fn(a):\n    features.look()",
				"features.py": "def look():\n    return {}['fare']"},
			path: "penguin.py", says: "features.py:2 in look: KeyError: 'fare'"},
	}
}

func TestAFunctionIsFoundAsTFXFindsItOrAClearLineSaysWhyNot(t *testing.T) {
	t.Parallel()
	r := pythonRunner(t)
	for _, e := range entries() {
		t.Run(e.name, func(t *testing.T) {
			t.Parallel()
			a := e.assignment(t)
			outcome, err := r.Run(t.Context(), a, runner.Limits{}, nil)
			switch {
			case e.says == "" && err != nil:
				t.Fatalf("%v\n%s", err, asError(t, err).LogTail)
			case strings.Contains(e.logged, "saved") && !holds(a.ServingModelDir, "model.txt"):
				t.Errorf("no model in %s: %s", a.ServingModelDir, outcome.LogTail)
			case e.says == "" && !strings.Contains(outcome.LogTail, e.logged):
				t.Errorf("log: %s\nwant %q in it", outcome.LogTail, e.logged)
			case e.says != "" && (err == nil || !strings.Contains(err.Error(), e.says) || asError(t, err).Kind != runner.KindModule):
				t.Errorf("got  %v\nwant %s\n%s", err, e.says, asError(t, err).LogTail)
			case err != nil && strings.Contains(asError(t, err).LogTail, "stoker_runner"):
				t.Errorf("the log shows frames of the driver:\n%s", asError(t, err).LogTail)
			}
		})
	}
}

// holds reports whether a directory has a file.
func holds(dir, name string) bool {
	_, err := os.Stat(filepath.Join(dir, name))
	return err == nil
}

func (e entry) assignment(t *testing.T) module.Assignment {
	t.Helper()
	dir := t.TempDir()
	writeFiles(t, dir, e.files)
	a := pythonAssignment(t, "")
	a.Module = module.Source{Path: filepath.Join(dir, e.path), RunFn: e.fn}
	return a
}

func writeFiles(t *testing.T, dir string, files map[string]string) {
	t.Helper()
	for name, text := range files {
		path := filepath.Join(dir, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
}

// Modules that need Estimators, by the error with which a TensorFlow without them stops them.
var withEstimators = map[string]string{
	"at its import":   "from tensorflow import estimator\ndef trainer_fn(fn_args, schema):\n    pass\n",
	"in its call":     "def trainer_fn(fn_args):\n    import tensorflow as tf\n    return {'estimator': tf.estimator.LinearClassifier([])}\n",
	"behind its call": "def trainer_fn(fn_args):\n    return {'estimator': 1, 'train_spec': 2, 'eval_spec': 3, 'eval_input_receiver_fn': 4}\n",
}

func TestTheErrorOfAModuleOfEstimatorsNamesATensorFlowThatHasThem(t *testing.T) {
	t.Parallel()
	r, err := runner.New(runner.Options{Python: tftest.Python(t), CacheDir: t.TempDir()})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(r.Close)
	for name, text := range withEstimators {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			outcome, err := r.Run(t.Context(), pythonAssignment(t, text), runner.Limits{}, nil)
			const next = "stoker python setup --estimator"
			if err == nil || !strings.Contains(err.Error(), next) || strings.Contains(err.Error(), "\n") {
				t.Errorf("error %v, want one line that names `%s`: %s", err, next, outcome.LogTail)
			}
		})
	}
}

// The README's example, as an archive with the file that it imports. Its model classifies penguins
// from raw records.
func TestTheExampleOfATFXModuleFileLearnsPenguins(t *testing.T) {
	t.Parallel()
	r, err := runner.New(runner.Options{Python: tftest.Python(t), CacheDir: t.TempDir()})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(r.Close)
	archive := zipped(t, "../../local/examples/penguin_tfx")
	a := penguinAssignment(t, module.Source{Path: archive, Keras: module.Keras3})
	a.TrainSteps, a.EvalSteps = new(60), new(5)
	outcome, err := r.Run(t.Context(), a, runner.Limits{}, nil)
	if err != nil {
		t.Fatal(err, asError(t, err).LogTail)
	}
	var right float64
	tftest.Run(t, knowsPenguins, map[string]any{"model": a.ServingModelDir, "raw": a.CustomConfig["raw"]}, &right)
	if right < 0.85 { // 0.44 are of one species; 0.93 to 0.98 were observed
		t.Errorf("its model has %.2f of the raw records right, %s", right, outcome.LogTail)
	}
}

const knowsPenguins = `
import glob

def check(given):
    serve = tf.saved_model.load(given["model"]).signatures["serving_default"]
    raw = [r.numpy() for path in glob.glob(given["raw"]) for r in tf.data.TFRecordDataset(path, "GZIP")]
    labels = [tf.train.Example.FromString(r).features.feature["species"].int64_list.value[0] for r in raw]
    answers = np.argmax(serve(examples=tf.constant(raw))["probabilities"].numpy(), axis=1)
    return float(np.mean(answers == labels))
`

// zipped packs the Python files of a directory.
func zipped(t *testing.T, dir string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "penguin.zip")
	file, err := os.Create(path)
	if err != nil {
		t.Fatal(err)
	}
	packed := zip.NewWriter(file)
	entries, err := os.ReadDir(dir)
	for _, entry := range entries {
		if !strings.HasSuffix(entry.Name(), ".py") {
			continue
		}
		text, readErr := os.ReadFile(filepath.Join(dir, entry.Name()))
		to, createErr := packed.Create(entry.Name())
		if err = errors.Join(readErr, createErr); err == nil {
			_, err = to.Write(text)
		}
		if err != nil {
			break
		}
	}
	if err := errors.Join(err, packed.Close(), file.Close()); err != nil {
		t.Fatal(err)
	}
	return path
}

// exportsItsModel is a TFX module whose model takes numbers in one signature, and tf.Examples in
// the default one, as TFX's do.
const exportsItsModel = `
import json
import os

import tensorflow as tf

FEATURES = ("body_mass_g_xf", "culmen_depth_mm_xf", "culmen_length_mm_xf", "flipper_length_mm_xf")

def run_fn(fn_args):
    with tf.distribute.MirroredStrategy().scope():
        model = tf.Module()
    model.weights = tf.Variable(tf.random.stateless_normal([4, 64], [1, 2]))
    model.out = tf.Variable(tf.random.stateless_normal([64, 3], [3, 4], stddev=0.1))

    def forward(body_mass_g_xf, culmen_depth_mm_xf, culmen_length_mm_xf, flipper_length_mm_xf):
        x = tf.concat([body_mass_g_xf, culmen_depth_mm_xf, culmen_length_mm_xf, flipper_length_mm_xf], axis=1)
        return {"species": tf.nn.softmax(tf.nn.relu(x @ model.weights) @ model.out)}

    numbers = tf.function(forward, input_signature=[tf.TensorSpec([None, 1], tf.float32, name=name) for name in FEATURES])

    @tf.function(input_signature=[tf.TensorSpec([None], tf.string, name="examples")])
    def examples(serialized):
        parsed = tf.io.parse_example(serialized, {name: tf.io.FixedLenFeature([1], tf.float32) for name in FEATURES})
        return forward(**parsed)

    rows = [tf.reshape(tf.linspace(-1.0, 1.0, 12)[i::4], [3, 1]) for i in range(4)]
    with open(os.path.join(fn_args.working_dir, "expected.json"), "w") as file:
        species = forward(*rows)["species"].numpy()
        json.dump({"rows": [row.numpy().tolist() for row in rows], "species": species.tolist()}, file)
    tf.saved_model.save(model, fn_args.serving_model_dir, signatures={"serving_default": examples, "numbers": numbers})
`

func TestTheFormatsOfATFXModuleAreMadeOfItsSavedModel(t *testing.T) {
	t.Parallel()
	penguins, err := filepath.Abs("../../compute/data/example/testdata/penguin/transformed_examples/Split-train")
	if err != nil {
		t.Fatal(err)
	}
	a := pythonAssignment(t, exportsItsModel)
	formats := []string{"tflite", "tflite-float16", "tflite-int8", "onnx"}
	a.TrainFiles, a.Transformed, a.Exports = []string{filepath.Join(penguins, "*")}, true, formats
	outcome, err := pythonRunner(t).Run(t.Context(), a, runner.Limits{}, nil)
	if err != nil {
		t.Fatal(err, outcome.LogTail)
	}
	const devices = "INFO:tensorflow:Using MirroredStrategy with devices ("
	if !strings.Contains(outcome.LogTail, devices) {
		t.Errorf("no line %q in\n%s", devices, outcome.LogTail)
	}
	const why = "tf2onnx is not installed: add it to module.requirements"
	if !maps.Equal(outcome.Unwritten, map[string]string{"onnx": why}) {
		t.Errorf("unwritten: %q\n%s", outcome.Unwritten, outcome.LogTail)
	}
	dir := filepath.Dir(a.ServingModelDir)
	if err := export.Check(dir, formats[:3]); err != nil {
		t.Error(err)
	}
	sizes := map[string]int64{}
	for _, file := range []string{"model.tflite", "model-float16.tflite", "model-int8.tflite"} {
		info, err := os.Stat(filepath.Join(dir, "Format-TFLite", file))
		if err != nil {
			t.Fatal(err)
		}
		sizes[file] = info.Size()
	}
	checkAnswers(t, a, map[string]float64{
		"Format-TFLite/model.tflite":         float32Tolerance,
		"Format-TFLite/model-float16.tflite": 5e-4, // weights have 11 bits
		"Format-TFLite/model-int8.tflite":    2e-2, // 8 bits, in all 64 units
	})
	if sizes["model-float16.tflite"] >= sizes["model.tflite"] {
		t.Errorf("sizes are %v", sizes)
	}
	var fed struct {
		Inputs []struct {
			Name, Type string
			Shape      []int
		}
	}
	text, err := os.ReadFile(filepath.Join(dir, "Format-TFLite", "inputs.json"))
	const inputs = "[{body_mass_g_xf float32 [-1 1]} {culmen_depth_mm_xf float32 [-1 1]} " +
		"{culmen_length_mm_xf float32 [-1 1]} {flipper_length_mm_xf float32 [-1 1]}]"
	if err != nil || json.Unmarshal(text, &fed) != nil || fmt.Sprint(fed.Inputs) != inputs {
		t.Errorf("inputs.json is %s, %v", text, err)
	}
}

// float32Tolerance is for probabilities: sums are taken in another order.
const float32Tolerance = 1e-5

// asks runs the files with LiteRT or ONNX Runtime, on the rows that the module predicted with its
// model.
const asks = `
import json, os, sys
import numpy as np
import onnxruntime
from ai_edge_litert.interpreter import Interpreter

def ask(path, feed):
    if path.endswith(".onnx"):
        return onnxruntime.InferenceSession(path, providers=["CPUExecutionProvider"]).run(["species"], feed)[0]
    return Interpreter(path).get_signature_runner()(**feed)["species"]

expected, names = json.load(open(sys.argv[1])), sys.argv[3:]
feed = dict(zip(("body_mass_g_xf", "culmen_depth_mm_xf", "culmen_length_mm_xf", "flipper_length_mm_xf"),
                (np.array(row, np.float32) for row in expected["rows"])))
for name in names:
    species = ask(os.path.join(sys.argv[2], name), feed)
    print("\n" + name, float(np.abs(species - np.array(expected["species"])).max()), file=sys.stderr)
`

// checkAnswers checks that the files answer as the model does, each within a tolerance of
// probabilities.
func checkAnswers(t *testing.T, a module.Assignment, tolerances map[string]float64) {
	t.Helper()
	files := slices.Sorted(maps.Keys(tolerances))
	args := append([]string{"-c", asks, filepath.Join(a.WorkingDir, "expected.json"), filepath.Dir(a.ServingModelDir)}, files...)
	var out bytes.Buffer
	cmd := exec.CommandContext(t.Context(), tftest.Python(t), args...)
	cmd.Stderr = &out
	if err := cmd.Run(); err != nil {
		t.Fatalf("%v: %s", err, out.String())
	}
	for _, file := range files {
		_, rest, _ := strings.Cut(out.String(), "\n"+file+" ")
		var largest float64
		if _, err := fmt.Sscan(rest, &largest); err != nil || largest > tolerances[file] {
			t.Errorf("%s differs by %v (%v), %v allowed\n%s", file, largest, err, tolerances[file], out.String())
		}
		t.Logf("%s differs by %v", file, largest)
	}
}

// badConverter replaces the converters' TensorFlow by one that does something else when it is
// imported. The module itself needs none.
func badConverter(does string) string {
	return fmt.Sprintf(`
import os, stoker

def run_fn(fn_args):
    os.makedirs(fn_args.serving_model_dir)
    open(os.path.join(fn_args.serving_model_dir, "saved_model.pb"), "w").close()
    os.makedirs("bad/tensorflow")
    with open("bad/tensorflow/__init__.py", "w") as file:
        file.write(%q)
    os.environ["PYTHONPATH"] = os.path.abspath("bad") + os.pathsep + os.environ["PYTHONPATH"]
    stoker.report(step=1)
`, does)
}

func TestAConverterThatDiesIsNotedForEachFormat(t *testing.T) {
	t.Parallel()
	a := pythonAssignment(t, badConverter("import os; os.abort()"))
	a.Exports = []string{"tflite", "tflite-int8"}
	outcome, err := pythonRunner(t).Run(t.Context(), a, runner.Limits{}, nil)
	if err != nil {
		t.Fatal(err, outcome.LogTail)
	}
	const why = "the converter ended by signal 6"
	if want := map[string]string{"tflite": why, "tflite-int8": why}; !maps.Equal(outcome.Unwritten, want) {
		t.Errorf("unwritten: %q, want %q\n%s", outcome.Unwritten, want, outcome.LogTail)
	}
}

func TestAConverterThatIsToLeaveIsNoFormatThatCanNotBeWritten(t *testing.T) {
	t.Parallel()
	ctx, stop := context.WithCancelCause(t.Context())
	defer stop(nil)
	a := pythonAssignment(t, badConverter("import time; time.sleep(600)"))
	a.Exports = []string{"tflite"}
	_, err := pythonRunner(t).Run(ctx, a, runner.Limits{}, func(module.Message) {
		time.AfterFunc(300*time.Millisecond, func() { stop(errPreempted) })
	})
	if failed := asError(t, err); failed.Kind != runner.KindStopped || !errors.Is(err, errPreempted) {
		t.Errorf("%s: %v, want stopped", failed.Kind, err)
	}
}

// The model is one that TFX left: all its signatures take tf.Examples.
func TestTheErrorOfAModelThatTakesStringsNamesWhatItLacks(t *testing.T) {
	t.Parallel()
	const copies = `
import shutil

def run_fn(fn_args):
    shutil.copytree(fn_args.custom_config["model"], fn_args.serving_model_dir)
`
	model, err := filepath.Abs("../../compute/tf/savedmodel/testdata/penguin/model")
	if err != nil {
		t.Fatal(err)
	}
	a := pythonAssignment(t, copies)
	a.Exports, a.CustomConfig = []string{"tflite"}, map[string]any{"model": model}
	outcome, err := pythonRunner(t).Run(t.Context(), a, runner.Limits{}, nil)
	if err != nil {
		t.Fatal(err, outcome.LogTail)
	}
	const want = "every signature of the model has strings as inputs or outputs (serving_default has examples; " +
		"transform_features has examples)"
	if why := outcome.Unwritten["tflite"]; !strings.Contains(why, want) {
		t.Errorf("the reason is %q, want %q\n%s", why, want, outcome.LogTail)
	}
}

// misbehaving is a TFX module that misbehaves, and how its job ends. Such modules import no
// TensorFlow, so they are fast.
type misbehaving struct {
	name   string
	body   string // of run_fn
	limits runner.Limits
	stop   bool // the job is stopped after the module's first message

	kind   runner.Kind // "": the job is done, as far as the process knows
	says   string      // in the error
	logged string      // in the end of the log
	bytes  int64       // the least size of the log
}

// misbehaviours is the table that every way to start a TFX module has to pass.
func misbehaviours() []misbehaving {
	return []misbehaving{
		{name: "raises", body: `raise ValueError("the labels are all the same")`,
			kind: runner.KindModule, says: "ValueError: the labels are all the same", logged: "in run_fn\n    raise ValueError"},
		{name: "raises what can't be printed", body: `raise type("Odd", (Exception,), {"__str__": lambda self: 1 / 0})()`,
			kind: runner.KindModule, says: "Odd"},
		{name: "raises a message of 1 MB", body: `raise ValueError("loud " * 200_000)`, kind: runner.KindModule, says: "ValueError: loud"},
		{name: "leaves with 0", body: `import sys; sys.exit(0)`, kind: runner.KindModule, says: "sys.exit(0)"},
		{name: "leaves with 3", body: `import sys; sys.exit(3)`, kind: runner.KindModule, says: "sys.exit(3)"},
		{name: "is gone with 0", body: `os._exit(0)`, kind: runner.KindModule, says: "exited without reporting a result"},
		{name: "is gone with 3", body: `os._exit(3)`, kind: runner.KindModule, says: "exited with status 3"},
		{name: "reads a null pointer", body: `print("reading"); import ctypes; ctypes.string_at(0)`,
			kind: runner.KindCrash, says: "ended by signal 11", logged: "reading\n"},
		{name: "aborts", body: `print("aborting"); os.abort()`, kind: runner.KindCrash, says: "ended by signal 6", logged: "aborting\n"},
		{name: "is killed", body: `os.kill(os.getpid(), 9)`, kind: runner.KindCrash, says: "killed from outside"},
		{name: "forks a child that outlives it", body: forks},
		{name: "leaks 2 GB", body: leaks, limits: runner.Limits{MemoryBytes: 300 << 20},
			kind: runner.KindResources, says: "300.0 MiB allowed"},
		{name: "ignores SIGTERM", body: ignores, stop: true, limits: runner.Limits{Grace: 50 * time.Millisecond},
			kind: runner.KindStopped, says: "preempted"},
		{name: "takes SIGTERM for itself", body: swallows, stop: true, limits: runner.Limits{Grace: 50 * time.Millisecond},
			kind: runner.KindStopped, says: "preempted"},
		{name: "never ends", body: "while True: pass", limits: runner.Limits{Timeout: time.Second, Grace: 100 * time.Millisecond},
			kind: runner.KindResources, says: "ran longer than 1s"},
		{name: "prints 100 MB", body: `for _ in range(100): print("x" * 999_999)` + "\nprint('the end')", logged: "the end\n", bytes: 100e6},
		{name: "prints what is no text", body: `os.write(1, bytes(range(256)) * 40); print("\ud800", "the end")`, logged: "the end\n"},
		{name: "writes nothing", body: "pass"},
		{name: "writes an empty model", body: "os.makedirs(fn_args.serving_model_dir)"},
		{name: "leaves threads running", body: threads, limits: runner.Limits{Grace: 300 * time.Millisecond}},
		{name: "needs a package", body: "import no_such_package", kind: runner.KindModule, says: "no_such_package"},
		{name: "closes the progress stream", body: "os.close(progress)", kind: runner.KindModule},
		{name: "writes on the progress stream", body: `os.write(progress, b'garbage\n{"type": 7}\n\xff\n')`,
			logged: `on the progress descriptor: "garbage\n"`},
		{name: "has no end of a line on the progress stream", body: `os.write(progress, b"x" * 200_000)`,
			logged: `on the progress descriptor: "xxxx`},
		{name: "closes its output", body: `os.close(1); os.close(2)`},
		{name: "reads standard input", body: `import sys; print("read:", repr(sys.stdin.read()))`, logged: "read: ''"},
		{name: "removes its working directory", body: `import shutil; shutil.rmtree(os.getcwd())`},
		{name: "recurses", body: "def again(): return again()\nagain()", kind: runner.KindModule, says: "RecursionError"},
		{name: "is interrupted", body: "raise KeyboardInterrupt", kind: runner.KindModule, says: "KeyboardInterrupt"},
	}
}

// Bodies that take more than a line.
const (
	forks = `
if os.fork() == 0:
    os.setsid()
    time.sleep(600)
os.makedirs(fn_args.serving_model_dir)`
	leaks = `
kept = []
for _ in range(200):
    kept.append(bytearray(b"x" * 10_000_000))
    time.sleep(0.002)`
	ignores = `
import signal, stoker
signal.signal(signal.SIGTERM, signal.SIG_IGN)
stoker.report(1)
time.sleep(600)`
	swallows = `
import signal, stoker
signal.signal(signal.SIGTERM, lambda *_: print("no"))
stoker.report(1)
while True: time.sleep(1)`
	threads = `
import threading
threading.Thread(target=time.sleep, args=(600,)).start()`
)

// moduleFile returns the text of the module, which knows the number of the progress stream's
// descriptor.
func (m misbehaving) moduleFile() string {
	const head = `
import os, time

progress = int(os.environ["STOKER_PROGRESS_FD"])

def run_fn(fn_args):
`
	return head + "    " + strings.ReplaceAll(m.body, "\n", "\n    ") + "\n"
}

// check runs the module, and then one that behaves: nothing of the first may be left.
func (m misbehaving) check(t *testing.T, r *runner.Runner) {
	t.Helper()
	ctx, stop := context.WithCancelCause(t.Context())
	defer stop(nil)
	a := pythonAssignment(t, m.moduleFile())
	outcome, err := r.Run(ctx, a, m.limits, func(module.Message) {
		if m.stop {
			stop(errPreempted)
		}
	})
	tail := outcome.LogTail
	failed, ok := errors.AsType[*runner.Error](err)
	if ok != (m.kind != "") || ok && (failed.Kind != m.kind || !strings.Contains(failed.Error(), m.says)) {
		t.Errorf("ended with %v (%+v), want %q saying %q\n%s", err, failed, m.kind, m.says, tail)
	} else if ok {
		tail = failed.LogTail
		checkBrief(t, failed.Error())
	}
	if !strings.Contains(tail, m.logged) || outcome.LogBytes < m.bytes {
		t.Errorf("the log of %d bytes ends in\n%s\nwant %q in it, and %d bytes", outcome.LogBytes, tail, m.logged, m.bytes)
	}
}

var errPreempted = errors.New("preempted")

// checkBrief checks that an error can be part of an event.
func checkBrief(t *testing.T, message string) {
	t.Helper()
	if len(message) > 64<<10 {
		t.Errorf("the error has %d bytes", len(message))
	}
}

func TestATFXModuleThatMisbehavesHarmsNobodyElse(t *testing.T) {
	t.Parallel()
	r := pythonRunner(t)
	for _, m := range misbehaviours() {
		t.Run(m.name, func(t *testing.T) {
			t.Parallel()
			m.check(t, r)
		})
	}
}

// At the same time, with the same runner.
func TestATFXModuleThatBehavesIsDoneMeanwhile(t *testing.T) {
	t.Parallel()
	a := pythonAssignment(t, misbehaving{body: `os.makedirs(fn_args.serving_model_dir); print(os.listdir("."), "is my home")`}.moduleFile())
	outcome, err := pythonRunner(t).Run(t.Context(), a, runner.Limits{}, nil)
	if err != nil || !strings.Contains(outcome.LogTail, "[] is my home") {
		t.Error(err, outcome.LogTail)
	}
	if _, err := os.Stat(filepath.Join(a.ServingModelDir)); err != nil {
		t.Error(err)
	}
}

// pythonRunner runs TFX modules in the environment of the tests.
func pythonRunner(t *testing.T) *runner.Runner {
	t.Helper()
	r, err := runner.New(runner.Options{Python: tftest.Python(t), CacheDir: t.TempDir()})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(r.Close)
	return r
}
