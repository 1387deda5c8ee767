package runner_test

import (
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

// exportsItsModel is a TFX module whose model takes numbers in one signature, and tf.Examples in the default one, as TFX's
// do.
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

// float32Tolerance is of probabilities: sums are taken in another order.
const float32Tolerance = 1e-5

// asks runs the files by LiteRT or ONNX Runtime, on the rows that the module asked its model of.
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

// checkAnswers says whether the files answer as the model does, each within a tolerance of probabilities.
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

// badConverter makes the converters' TensorFlow one that does something else when it is imported. The module itself needs
// none.
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
func TestAModelThatTakesStringsAloneIsToldWhatItLacks(t *testing.T) {
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
	const want = "every signature of the model takes or gives strings (serving_default has examples; " +
		"transform_features has examples)"
	if why := outcome.Unwritten["tflite"]; !strings.Contains(why, want) {
		t.Errorf("the reason is %q, want %q\n%s", why, want, outcome.LogTail)
	}
}
