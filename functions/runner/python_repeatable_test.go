package runner_test

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stoker-ml/stoker/compute/tf/tftest"
	"github.com/stoker-ml/stoker/functions/module"
	"github.com/stoker-ml/stoker/functions/runner"
)

// A training that draws weights, dropout, the order of its data and numbers of Python and NumPy, which no seed of its own decides.
const drawsAtRandom = `
import random
import numpy as np
import tensorflow as tf

def run_fn(fn_args):
    print("drawn", random.random(), np.random.rand(), tf.random.uniform([]).numpy())
    rows = np.random.rand(200, 6).astype(np.float32)
    data = tf.data.Dataset.from_tensor_slices((rows, rows.sum(axis=1, keepdims=True))).shuffle(200)
    data = data.map(lambda x, y: (x + tf.random.normal(tf.shape(x), stddev=0.01), y), num_parallel_calls=4).batch(16)
    model = tf.keras.Sequential([tf.keras.layers.Dense(16, activation="relu"), tf.keras.layers.Dropout(0.3), tf.keras.layers.Dense(1)])
    model.compile("adam", "mse")
    model.fit(data, epochs=3, verbose=0)
    tf.saved_model.save(model, fn_args.serving_model_dir,
        signatures=tf.function(lambda x: {"y": model(x)}).get_concrete_function(tf.TensorSpec([None, 6], tf.float32)))
`

func TestATFXModuleGivesTheSameBitsEachTimeWhereItIsAskedTo(t *testing.T) {
	t.Parallel()
	host, err := runner.New(runner.Options{Python: tftest.Python(t), CacheDir: t.TempDir()})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(host.Close)
	train := func(seed int64, deterministic bool, keras string) (weights, log string) {
		t.Helper()
		a := pythonAssignment(t, drawsAtRandom)
		a.Seed, a.Deterministic, a.Module.Keras = seed, deterministic, keras
		limits := runner.Limits{LogPath: filepath.Join(t.TempDir(), "log")}
		outcome, err := host.Run(t.Context(), a, limits, nil)
		if err != nil {
			t.Fatal(err, asError(t, err).LogTail)
		}
		if outcome.Device != module.DeviceCPU {
			t.Errorf("trained on %q, want a CPU", outcome.Device)
		}
		var settings struct {
			Seed          int64 `json:"seed"`
			Deterministic bool  `json:"deterministic"`
		}
		if err := json.Unmarshal(outcome.Settings, &settings); err != nil || settings.Seed != seed&0xffffffff || settings.Deterministic != deterministic {
			t.Errorf("trained with %s, %v; want seed %d, deterministic %v", outcome.Settings, err, seed&0xffffffff, deterministic)
		}
		text, err := os.ReadFile(limits.LogPath)
		if err != nil {
			t.Fatal(err)
		}
		data, err := os.ReadFile(filepath.Join(a.ServingModelDir, "variables", "variables.data-00000-of-00001"))
		if err != nil {
			t.Fatal(err)
		}
		return string(data), string(text)
	}
	for _, keras := range []string{module.Keras3, module.Keras2} {
		first, log := train(7, true, keras)
		if second, _ := train(7, true, keras); first != second {
			t.Errorf("Keras %s: two trainings of one seed have other weights: %s", keras, log)
		}
		if strings.Contains(log, "may differ") {
			t.Errorf("Keras %s: the log says that bits may differ: %s", keras, log)
		}
	}
	first, _ := train(7, true, module.Keras3)
	if other, _ := train(-8, true, module.Keras3); first == other {
		t.Error("two seeds give the same weights")
	}
	_, log := train(7, false, module.Keras3)
	if !strings.Contains(log, "without trainer.deterministic: another training of the same may differ in") {
		t.Errorf("the log does not say what may differ: %s", log)
	}
	_, again := train(7, false, module.Keras3)
	if drawnOf(log) != drawnOf(again) || drawnOf(log) == "" {
		t.Errorf("drawn %q, then %q of the same seed", drawnOf(log), drawnOf(again))
	}
}

// drawnOf is the line of the log with what was drawn.
func drawnOf(log string) string {
	for line := range strings.Lines(log) {
		if strings.HasPrefix(line, "drawn ") {
			return line
		}
	}
	return ""
}
