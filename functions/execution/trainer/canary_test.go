package trainer_test

import (
	"encoding/json"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stoker-ml/stoker/compute/tf/skew"
	"github.com/stoker-ml/stoker/compute/tf/tftest"
	"github.com/stoker-ml/stoker/functions/module/builtin"
	"github.com/stoker-ml/stoker/functions/module/modelcheck"
	"github.com/stoker-ml/stoker/functions/runner"
)

// A model that answers each row with its process's environment, and one that raises it as an error.
const leakScript = `
import tensorflow as tf

class Leak(tf.Module):
    @tf.function(input_signature=[tf.TensorSpec([None], tf.string, name="examples")])
    def answer(self, examples):
        read = tf.io.read_file("/proc/self/environ")
        return {"leak": tf.fill(tf.shape(examples), read)}

    @tf.function(input_signature=[tf.TensorSpec([None], tf.string, name="examples")])
    def fail(self, examples):
        read = tf.io.read_file("/proc/self/environ")
        with tf.control_dependencies([tf.debugging.Assert(False, [read], summarize=100000)]):
            return {"leak": tf.identity(examples)}

def check(ask):
    m = Leak()
    tf.saved_model.save(m, ask["answers"], signatures={"serving_default": m.answer})
    tf.saved_model.save(m, ask["fails"], signatures={"serving_default": m.fail})
    return {}
`

// A foreign model that reads the environment of the process that executes it can't return any of it
// in an answer, and the worker's credentials are not in it.
func TestAModelThatReadsItsEnvironmentFindsNoCredentials(t *testing.T) {
	const canary = "canary-0f6e2d"
	interpreter := tftest.Python(t)
	t.Setenv("AWS_SECRET_ACCESS_KEY", canary)
	t.Setenv("OTEL_EXPORTER_OTLP_HEADERS", "authorization="+canary)
	var printed strings.Builder
	host, err := runner.New(runner.Options{Builtins: builtin.Digests(), Env: []string{childEnv + "=1"}, Logger: slog.New(slog.NewTextHandler(&printed, &slog.HandlerOptions{Level: slog.LevelDebug}))})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(host.Close)
	dir := t.TempDir()
	models := map[string]string{"answers": filepath.Join(dir, "answers"), "fails": filepath.Join(dir, "fails")}
	tftest.Run(t, leakScript, models, &struct{}{})
	predictions := filepath.Join(dir, "predictions.jsonl")
	if err := os.WriteFile(predictions, []byte(`{"leak": ["nothing"]}`+"\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	raw, err := filepath.Abs("../../../compute/data/example/testdata/penguin/examples/Split-eval/*")
	if err != nil {
		t.Fatal(err)
	}
	for name, want := range map[string]string{"answers": `is [`, "fails": "InvalidArgumentError"} {
		question, err := json.Marshal(modelcheck.Question{Skew: &skew.Question{
			Model: models[name], Raw: []string{raw},
			Predictions: predictions, Rows: 1, Tolerance: skew.DefaultTolerance, Python: interpreter,
		}})
		if err != nil {
			t.Fatal(err)
		}
		answer, err := host.Check(t.Context(), question, runner.Limits{})
		if err != nil {
			t.Fatal(err)
		}
		if strings.Contains(string(answer), canary) || strings.Contains(string(answer), "PATH=") {
			t.Errorf("%s: the answer holds the environment: %s", name, answer)
		}
		if text := string(answer) + differences(t, answer); !strings.Contains(text, want) {
			t.Errorf("%s: %s, want %q: the model was not executed", name, text, want)
		}
	}
	if !strings.Contains(printed.String(), "PATH=") || strings.Contains(printed.String(), canary) {
		t.Errorf("the error's message, which is for the worker's log at debug level: %s", printed.String())
	}
}

func differences(t *testing.T, answer json.RawMessage) (all string) {
	t.Helper()
	var a modelcheck.Answer
	if err := json.Unmarshal(answer, &a); err != nil {
		t.Fatal(err)
	}
	if a.Skew != nil {
		for _, d := range a.Skew.Differences {
			all += d.String() + "\n"
		}
	}
	return all
}
