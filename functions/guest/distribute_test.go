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
import os

import tensorflow as tf

def normal(seed):
    return tf.keras.initializers.RandomNormal(stddev=1.0, seed=seed)

def run_fn(fn_args):
    strategy = tf.distribute.MultiWorkerMirroredStrategy()
    print("replicas:", strategy.num_replicas_in_sync, "keras:", tf.keras.Model.__module__)
    x = tf.reshape(tf.range(640, dtype=tf.float32) / 640, [-1, 1])
    data = tf.data.Dataset.from_tensor_slices((x, tf.sin(6 * x))).batch(32).repeat()
    with strategy.scope():
        model = tf.keras.Sequential([
            tf.keras.layers.Dense(8, activation="tanh", kernel_initializer=normal(3), input_shape=(1,)),
            tf.keras.layers.Dense(1, kernel_initializer=normal(4))])
        model.compile(optimizer=tf.keras.optimizers.SGD(0.1), loss="mse")
    callbacks = [tf.keras.callbacks.BackupAndRestore(os.path.join(fn_args.working_dir, "backup"))]
    if '"index": 1' in os.environ.get("TF_CONFIG", "") and (fn_args.custom_config or {}).get("crash"):
        callbacks.append(tf.keras.callbacks.LambdaCallback(on_epoch_begin=lambda epoch, logs: epoch == 3 and os.abort()))
    model.fit(data, steps_per_epoch=20, epochs=5, verbose=2, callbacks=callbacks)
    model.evaluate(data, steps=20, verbose=2)
    model.save(fn_args.serving_model_dir)
`

// float32 sums in another order: a batch's gradient is the mean of two halves' then. Over 100 steps that stays far below
// this.
const lossTolerance = 1e-5

func TestTwoWorkersTrainTheModelThatOneDoes(t *testing.T) {
	t.Parallel()
	one := mirrored(t, 1, nil)
	two := mirrored(t, 2, nil)
	checkSameLoss(t, one.train(t, "replicas: 1 keras: tf_keras"), two.train(t, "[worker 1] replicas: 2 keras: tf_keras"))
}

// The second worker dies in the middle. What was kept of the chief is what both go on from.
func TestTwoWorkersGoOnWhereTheyWere(t *testing.T) {
	t.Parallel()
	whole := mirrored(t, 2, nil).train(t, "[worker 0] Epoch 1/5")
	broken := mirrored(t, 2, map[string]any{"crash": true})
	outcome, err := pythonHost(t).Run(t.Context(), broken.Assignment, guest.Limits{}, nil)
	if failed := asError(t, err); failed.Kind != guest.KindCrash || !strings.Contains(failed.Error(), "ended by signal 6") {
		t.Fatal(failed.Kind, err, outcome.LogTail)
	}
	broken.CustomConfig = nil
	checkSameLoss(t, whole, broken.train(t, "[worker 1] Epoch 4/5"))
	if strings.Contains(broken.log, "Epoch 1/5") {
		t.Errorf("it began anew\n%s", broken.log)
	}
}

type mirroring struct {
	module.Assignment
	log string // how it ends
}

func mirrored(t *testing.T, workers int, config map[string]any) *mirroring {
	t.Helper()
	a := pythonAssignment(t, mirrors)
	a.CustomConfig, a.Workers = config, workers
	a.Strategy, a.Module.Keras = module.StrategyMultiWorker, module.KerasAuto
	if workers == 1 {
		a.Strategy, a.Module.Keras = "", module.Keras2
	}
	return &mirroring{Assignment: a}
}

// train returns the loss of the model, which is there.
func (m *mirroring) train(t *testing.T, logged string) float64 {
	t.Helper()
	outcome, err := pythonHost(t).Run(t.Context(), m.Assignment, guest.Limits{}, nil)
	if m.log = outcome.LogTail; err != nil {
		t.Fatal(err, m.log)
	}
	if !strings.Contains(m.log, logged) {
		t.Errorf("no %q in\n%s", logged, m.log)
	}
	if _, err := os.Stat(filepath.Join(m.ServingModelDir, "saved_model.pb")); err != nil {
		t.Error(err)
	}
	return outcome.Metrics["loss"]
}

func checkSameLoss(t *testing.T, want, got float64) {
	t.Helper()
	if want == 0 || want > 0.5 || math.Abs(want-got) > lossTolerance {
		t.Errorf("loss %v, want %v", got, want)
	}
	t.Logf("loss %v, want %v", got, want)
}
