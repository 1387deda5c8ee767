package runner_test

import (
	"strings"
	"testing"

	"github.com/stoker-ml/stoker/compute/tf/tftest"
	"github.com/stoker-ml/stoker/functions/runner"
)

// Modules that need Estimators, by where a TensorFlow without them stops them.
var withEstimators = map[string]string{
	"at its import":   "from tensorflow import estimator\ndef trainer_fn(fn_args, schema):\n    pass\n",
	"in its call":     "def trainer_fn(fn_args):\n    import tensorflow as tf\n    return {'estimator': tf.estimator.LinearClassifier([])}\n",
	"behind its call": "def trainer_fn(fn_args):\n    return {'estimator': 1, 'train_spec': 2, 'eval_spec': 3, 'eval_input_receiver_fn': 4}\n",
}

func TestAModuleOfEstimatorsIsToldWhichTensorFlowHasThem(t *testing.T) {
	t.Parallel()
	host, err := runner.New(runner.Options{Python: tftest.Python(t), CacheDir: t.TempDir()})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(host.Close)
	for name, text := range withEstimators {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			outcome, err := host.Run(t.Context(), pythonAssignment(t, text), runner.Limits{}, nil)
			const next = "stoker python setup --estimator"
			if err == nil || !strings.Contains(err.Error(), next) || strings.Contains(err.Error(), "\n") {
				t.Errorf("error %v, want one line that names `%s`: %s", err, next, outcome.LogTail)
			}
		})
	}
}
