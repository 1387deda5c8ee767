package runner_test

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stoker-ml/stoker/functions/module"
	"github.com/stoker-ml/stoker/functions/runner"
)

// What AutoGraph is spared changes no bit of what is served, whichever Keras there is, and the module's own code is
// converted as ever: it would not run else.
func TestAModelWhoseExportIsSparedServesTheSame(t *testing.T) {
	t.Parallel()
	host := pythonRunner(t)
	for keras, name := range map[string]string{module.Keras2: "tf_keras", module.Keras3: "keras"} {
		t.Run("Keras "+keras, func(t *testing.T) {
			t.Parallel()
			spared, few := transformed(t, host, name, module.Source{Keras: keras})
			all, many := transformed(t, host, name, module.Source{Keras: keras, Autograph: module.AutographAll})
			if len(all) < 1000 || !bytes.Equal(spared, all) {
				t.Errorf("transformed features of %d bytes differ from those of %d", len(spared), len(all))
			}
			if few < 1 || many < 3*few {
				t.Errorf("AutoGraph converted %d functions, and %d without being spared", few, many)
			}
		})
	}
}

// transformed are the features that the model's signature makes of the raw evaluation records, and how many functions AutoGraph
// converted for it.
func transformed(t *testing.T, host *runner.Runner, keras string, source module.Source) (values []byte, converted int) {
	t.Helper()
	path, err := filepath.Abs(filepath.Join("testdata", "spared", "penguin.py"))
	if err != nil {
		t.Fatal(err)
	}
	source.Path = path
	a := penguinAssignment(t, source)
	outcome, err := host.Run(t.Context(), a, runner.Limits{}, nil)
	if err != nil {
		t.Fatal(err, asError(t, err).LogTail)
	}
	last := outcome.LogTail[max(0, strings.LastIndex(outcome.LogTail, "converted ")):]
	if n, _ := fmt.Sscanf(last, "converted %d functions with "+keras+"\n", &converted); n != 1 {
		t.Errorf("log: %s", outcome.LogTail)
	}
	if values, err = os.ReadFile(filepath.Join(a.ModelRunDir, "transformed.npz")); err != nil {
		t.Fatal(err)
	}
	return values, converted
}

// penguinAssignment asks to train on the demo's penguins.
func penguinAssignment(t *testing.T, source module.Source) module.Assignment {
	t.Helper()
	data, err := filepath.Abs("../../local/demo/data")
	if err != nil {
		t.Fatal(err)
	}
	out := t.TempDir()
	return module.Assignment{
		Version: module.ProtocolVersion, Module: source, Call: module.CallTrain, Transformed: true, TrainSteps: new(3), EvalSteps: new(1),
		TrainFiles:         []string{filepath.Join(data, "transformed_examples", "Split-train", "*")},
		EvalFiles:          []string{filepath.Join(data, "transformed_examples", "Split-eval", "*")},
		TransformGraphPath: filepath.Join(data, "transform_graph"),
		SchemaPath:         filepath.Join(data, "transform_graph", "transformed_metadata", "schema.pbtxt"),
		WorkingDir:         filepath.Join(out, "working"), ModelRunDir: filepath.Join(out, "model_run"),
		ServingModelDir: filepath.Join(out, "model", "Format-Serving"), EvalModelDir: filepath.Join(out, "model", "Format-TFMA"),
		CustomConfig: map[string]any{"raw": filepath.Join(data, "examples", "Split-eval", "*")},
	}
}
