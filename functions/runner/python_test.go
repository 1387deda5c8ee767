package runner_test

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/stoker-ml/stoker/compute/tf/tftest"
	"github.com/stoker-ml/stoker/functions/module"
	"github.com/stoker-ml/stoker/functions/runner"
)

// multiplies is a TFX module that leaves a model with one weight.
const multiplies = `
import tensorflow as tf

def run_fn(fn_args):
    print("training for", fn_args.train_steps)
    model = tf.Module()
    model.weight = tf.Variable(2.0)
    model.serve = tf.function(lambda x: x * model.weight, input_signature=[tf.TensorSpec([None], tf.float32)])
    tf.saved_model.save(model, fn_args.serving_model_dir, signatures={"serving_default": model.serve})
`

func TestATFXModuleRunsToItsModel(t *testing.T) {
	t.Parallel()
	host, err := runner.New(runner.Options{Python: tftest.Python(t), CacheDir: t.TempDir()})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(host.Close)
	a := pythonAssignment(t, multiplies)
	outcome, err := host.Run(t.Context(), a, runner.Limits{}, nil)
	if err != nil {
		t.Fatal(err, outcome.LogTail)
	}
	if _, err := os.Stat(filepath.Join(a.ServingModelDir, "saved_model.pb")); err != nil {
		t.Error(err)
	}
}

// pythonAssignment asks to train with the text of a module file.
func pythonAssignment(t *testing.T, text string) module.Assignment {
	t.Helper()
	dir := t.TempDir()
	path := filepath.Join(dir, "user_module.py")
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	return module.Assignment{
		Version: module.ProtocolVersion, Module: module.Source{Path: path}, Call: module.CallTrain, TrainSteps: new(3),
		TrainFiles: []string{filepath.Join(dir, "Split-train", "*")}, WorkingDir: t.TempDir(),
		ServingModelDir: filepath.Join(dir, "model", "Format-Serving"), ModelRunDir: t.TempDir(),
	}
}
