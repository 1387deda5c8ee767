package runner_test

import (
	"encoding/json"
	"os"
	"path/filepath"
	"testing"

	"github.com/stoker-ml/stoker/functions/module"
	"github.com/stoker-ml/stoker/functions/runner"
)

// draws is a TFX module that uses what hangs in a process forked too late: eager ops, a function, a data set, Keras, a
// strategy and a model. It tells its parent, and the random numbers it has drawn.
const draws = `
import json, os, random, sys, tempfile
import numpy, tensorflow as tf

def run_fn(fn_args):
    with tf.distribute.MirroredStrategy().scope():
        layer = tf.keras.layers.Dense(1)
        trained = tf.keras.Sequential([layer])
        trained.build((None, 1))
        trained.compile(loss="mse")
    numbers = [random.random(), numpy.random.rand(), float(tf.random.uniform([])), float(layer.kernel.numpy()[0, 0])]
    assert sum(int(x) for x in tf.data.Dataset.range(10).map(lambda x: x * 2, num_parallel_calls=2)) == 90
    trained.fit(tf.data.Dataset.from_tensors(([[1.0]], [[2.0]])).repeat(), steps_per_epoch=3, epochs=2, verbose=0)
    model = tf.Module()
    model.layer = layer
    model.serve = tf.function(layer, input_signature=[tf.TensorSpec([None, 1], tf.float32)])
    tf.saved_model.save(model, fn_args.serving_model_dir, signatures={"serving_default": model.serve})
    home = os.environ["HOME"]
    homes = home[:home.rindex("-") + 1]
    strange = [f"{name}.{key}" for name, module in list(sys.modules.items()) for key, value in list(getattr(module, "__dict__", {}).items())
               if isinstance(value, str) and homes in value and home not in value and value != homes]
    assert tempfile.gettempdir() == os.getcwd() == os.environ["HOME"], tempfile.gettempdir()
    with open(os.path.join(fn_args.serving_model_dir, "told"), "w") as file:
        json.dump({"numbers": numbers, "server": os.getppid(), "strange": strange, "keras": "2" if "tf_keras" in type(layer).__module__ else "3",
                   "mode": open("/proc/self/cmdline").read().split("\0")[-2]}, file)
`

// drawn is what such a module told.
type drawn struct {
	Numbers     []float64
	Server      int
	Keras, Mode string
	Strange     []string // variables that hold the home of the process that it was forked from

	steps int // of fit, as it was heard
}

func draw(t *testing.T, host *runner.Runner, keras string, seed int64) (d drawn) {
	t.Helper()
	a := pythonAssignment(t, draws)
	a.Module.Keras, a.Seed = keras, seed
	outcome, err := host.Run(t.Context(), a, runner.Limits{}, func(m module.Message) { d.steps = max(d.steps, m.Step) })
	if err != nil {
		t.Fatal(err, outcome.LogTail)
	}
	text, err := os.ReadFile(filepath.Join(a.ServingModelDir, "told"))
	if err == nil {
		err = json.Unmarshal(text, &d)
	}
	if err != nil {
		t.Fatal(err)
	}
	return d
}

func TestForkedTFXModulesRunTensorFlowEachByItself(t *testing.T) {
	t.Parallel()
	checkForks(t, module.Keras3)
}

func checkForks(t *testing.T, keras string) {
	t.Helper()
	host := runnerOf(t, runner.Options{Warm: 1, PythonWarm: runner.WarmFork})
	first, second := draw(t, host, keras, 1), draw(t, host, keras, 2)
	if first.Mode != "fork" || second.Mode != "fork" || first.Server != second.Server || first.Keras != keras {
		t.Errorf("forked from one process with Keras %s are\n%+v\n%+v", keras, first, second)
	}
	if len(second.Strange) > 0 {
		t.Errorf("%v know of the home of the process that imported them", second.Strange)
	}
	if first.steps != 6 || second.steps != 6 {
		t.Errorf("heard of %d and %d steps of 6", first.steps, second.steps)
	}
	for i, x := range first.Numbers {
		if x == second.Numbers[i] {
			t.Errorf("both drew %v as number %d", x, i)
		}
	}
}
