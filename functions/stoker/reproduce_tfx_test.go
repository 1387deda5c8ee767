//go:build tfx

package main

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/stoker-ml/stoker/compute/tf/tftest"
)

// drawing is a TFX module whose weights, dropout, order of data and noise come from random numbers
// without a seed.
const drawing = `
import numpy as np
import tensorflow as tf

def FUNCTION(fn_args):
    rows = np.random.rand(400, 6).astype(np.float32)
    data = tf.data.Dataset.from_tensor_slices((rows, rows.sum(axis=1, keepdims=True))).shuffle(400)
    data = data.map(lambda x, y: (x + tf.random.normal(tf.shape(x), stddev=0.01), y), num_parallel_calls=4).batch(16)
    model = tf.keras.Sequential([tf.keras.layers.Dense(64, activation="relu"), tf.keras.layers.Dropout(0.3), tf.keras.layers.Dense(1)])
    model.compile("adam", "mse")
    model.fit(data, epochs=3, verbose=0)
    model.evaluate(data, verbose=0)
    tf.saved_model.save(model, fn_args.serving_model_dir,
        signatures=tf.function(lambda x: {"y": model(x)}).get_concrete_function(tf.TensorSpec([None, 6], tf.float32)))
`

// The test trains TFX modules with trainer.deterministic, and trains them again with `stoker
// reproduce` in other processes: weights and metrics are equal bit for bit.
func TestReproduceMakesADeterministicTFXModelAgain(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	env := append(os.Environ(), "HOME="+dir, "XDG_DATA_HOME="+filepath.Join(dir, "data"), "XDG_CACHE_HOME="+filepath.Join(dir, "cache"),
		"STOKER_PYTHON="+tftest.Python(t), "CUDA_VISIBLE_DEVICES=")
	command := func(args ...string) *exec.Cmd {
		cmd := exec.Command("stoker", args...) // testscript puts it on the path
		cmd.Dir, cmd.Env = dir, env
		return cmd
	}
	stoker := func(args ...string) string {
		t.Helper()
		out, err := command(args...).CombinedOutput()
		if err != nil {
			t.Fatalf("stoker %v: %v\n%s", args, err, out)
		}
		return string(out)
	}
	file := func(name, text string) {
		t.Helper()
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	up := command("up")
	if err := up.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = up.Process.Signal(os.Interrupt); _ = up.Wait() })
	for start := time.Now(); ; time.Sleep(50 * time.Millisecond) {
		if _, err := os.Stat(filepath.Join(dir, "data", "stoker", "connection.json")); err == nil {
			break
		} else if time.Since(start) > time.Minute {
			t.Fatal("the stack did not come up: ", err)
		}
	}
	data, err := filepath.Abs("../../local/demo/data")
	if err != nil {
		t.Fatal(err)
	}
	penguin, err := filepath.Abs("../../local/examples/penguin_tfx/penguin_utils.py")
	if err != nil {
		t.Fatal(err)
	}
	stoker("upload", data, "s3://stoker/penguin-data")
	file("transform.json", `{"transform_graph": "s3://stoker/penguin-data/transform_graph",
		"transformed_examples": [{"uri": "s3://stoker/penguin-data/transformed_examples"}]}`)
	for _, function := range []string{"run_fn", "trainer_fn"} {
		file(function+".py", strings.ReplaceAll(drawing, "FUNCTION", function))
	}
	same := regexp.MustCompile(`(?m)^weights +largest difference 0 +of [1-9]\d* numbers`)
	metric := regexp.MustCompile(`(?m)^metric \S+ +(\S+) +(\S+)$`)
	for name, path := range map[string]string{"runs": "./run_fn.py", "trains": "./trainer_fn.py", "penguin": penguin} {
		file(name+".yaml", fmt.Sprintf("pipeline: %s\nmodule: {path: %s, keras: \"3\"}\ntrainer:\n  wait_for: [transform]\n"+
			"  train_args: {num_steps: 40}\n  eval_args: {num_steps: 5}\n  seed: 5\n  deterministic: on\n", name, path))
		stoker("apply", name+".yaml")
		stoker("publish", "transform.json", "--kind", "transform.ready", "--pipeline", name, "--run", "monday", "--wait", "--timeout", "5m")
		report := stoker("reproduce", name+"/monday", "--timeout", "5m")
		metrics := metric.FindAllStringSubmatch(report, -1)
		if !same.MatchString(report) || len(metrics) == 0 {
			t.Errorf("%s: no equal weights or no metrics:\n%s", name, report)
		}
		for _, m := range metrics {
			if m[1] != m[2] {
				t.Errorf("%s: %s", name, m[0])
			}
		}
	}
}
