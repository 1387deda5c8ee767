//go:build distribute

package guest_test

import (
	"math"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stoker-ml/stoker/functions/guest"
	"github.com/stoker-ml/stoker/functions/module"
)

// mirrors is a TFX module that trains on batches of 32, however many processes share them.
const mirrors = `
import tensorflow as tf

def run_fn(fn_args):
    strategy = tf.distribute.MultiWorkerMirroredStrategy()
    print("replicas:", strategy.num_replicas_in_sync, "keras:", tf.keras.Model.__module__)
    x = tf.reshape(tf.range(640, dtype=tf.float32) / 640, [-1, 1])
    data = tf.data.Dataset.from_tensor_slices((x, tf.sin(6 * x))).batch(32).repeat()
    with strategy.scope():
        model = tf.keras.Sequential([
            tf.keras.layers.Dense(8, activation="tanh", kernel_initializer=tf.keras.initializers.RandomNormal(stddev=1.0, seed=3), input_shape=(1,)),
            tf.keras.layers.Dense(1, kernel_initializer=tf.keras.initializers.RandomNormal(stddev=1.0, seed=4))])
        model.compile(optimizer=tf.keras.optimizers.SGD(0.1), loss="mse")
    model.fit(data, steps_per_epoch=20, epochs=5, verbose=2)
    model.evaluate(data, steps=20, verbose=2)
    model.save(fn_args.serving_model_dir)
`

// float32 sums in another order: a batch's gradient is the mean of two halves' then. Over 100 steps that stays far below this.
const lossTolerance = 1e-5

func TestTwoWorkersTrainTheModelThatOneDoes(t *testing.T) {
	t.Parallel()
	host := pythonHost(t)
	train := func(workers int, replicas string) float64 {
		a := pythonAssignment(t, mirrors)
		a.Workers, a.Strategy, a.Module.Keras = workers, module.StrategyMultiWorker, module.KerasAuto
		if workers == 1 {
			a.Strategy, a.Module.Keras = "", module.Keras2
		}
		outcome, err := host.Run(t.Context(), a, guest.Limits{}, nil)
		if err != nil {
			t.Fatal(err, outcome.LogTail)
		}
		if !strings.Contains(outcome.LogTail, replicas) {
			t.Errorf("no %q in\n%s", replicas, outcome.LogTail)
		}
		if _, err := os.Stat(filepath.Join(a.ServingModelDir, "saved_model.pb")); err != nil {
			t.Error(err)
		}
		return outcome.Metrics["loss"]
	}
	one, two := train(1, "replicas: 1 keras: tf_keras"), train(2, "[worker 1] replicas: 2 keras: tf_keras")
	if one == 0 || one > 0.5 || math.Abs(one-two) > lossTolerance {
		t.Errorf("loss %v in one process, %v in two", one, two)
	}
	t.Logf("loss %v in one process, %v in two", one, two)
}
