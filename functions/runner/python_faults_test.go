package runner_test

import (
	"strings"
	"testing"

	"github.com/stoker-ml/stoker/functions/runner"
)

// Whose fault an exception is decides what becomes of the job. Each stands in line 4 of the module.
func TestAnExceptionIsToldByWhoseFaultItIs(t *testing.T) {
	t.Parallel()
	host := pythonRunner(t)
	for name, c := range map[string]struct {
		raise string
		kind  runner.Kind
		says  string
	}{
		"no such label": {
			"ValueError('The `label_key` provided (zzz) must be one of the following tensorsnames: dict_keys([])')", runner.KindInput,
			"ValueError: The `label_key` provided",
		},
		"no such feature": {
			`RuntimeError("Feature: fare (data type: float) is required but could not be found.")`, runner.KindInput,
			"RuntimeError: Feature: fare",
		},
		"another type": {
			`ValueError("Key: fare.  Data types don't match. Expected type: float")`, runner.KindInput,
			"Key: fare",
		},
		"words like it": {
			`ValueError("label_key must not be empty")`, runner.KindModule,
			"ValueError: label_key must not be empty",
		},
		"a full disk": {
			`OSError(28, "No space left on device", "/x")`, runner.KindHost,
			"No space left on device: '/x'",
		},
		"a full disk, as TensorFlow says it": {
			`RuntimeError("/x/y; No space left on device")`, runner.KindHost,
			"No space left on device",
		},
		"no memory": {"MemoryError()", runner.KindResources, "MemoryError"},
		"a status": {
			"SystemExit('give up')", runner.KindModule,
			"SystemExit: the module called sys.exit(give up) before it was done",
		},
		"no text": {`ValueError("\ud800 and \x00")`, runner.KindModule, "ValueError: "},
		"many lines": {
			`ValueError("Graph execution error:\n\nDetected at node x")`, runner.KindModule,
			"Graph execution error:\n\nDetected at node x",
		},
		"an import of tensorflow_transform": {
			"ModuleNotFoundError(\"No module named 'tensorflow_transform'\", name='tensorflow_transform')", runner.KindModule,
			"`stoker python setup` makes one that has it",
		},
		"an import of tfx": {
			"ModuleNotFoundError(\"No module named 'tfx.extensions'\", name='tfx.extensions')", runner.KindModule,
			"add tfx to module.requirements",
		},
		"an import of sklearn": {
			"ModuleNotFoundError(\"No module named 'sklearn.tree'\", name='sklearn.tree')", runner.KindModule,
			"module.requirements: [scikit-learn]",
		},
		"an import of a file whose name is like ours": {
			"ModuleNotFoundError(\"No module named 'stoker_features'\", name='stoker_features')", runner.KindModule,
			"if it is a file of yours, to the module's folder",
		},
		"an import of a sibling's": {
			"ImportError(\"cannot import name 'x' from 'features'\", name='features')", runner.KindModule,
			"cannot import name 'x' from 'features'",
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			a := pythonAssignment(t, "\ndef run_fn(fn_args):\n    print('runs')\n    raise "+c.raise)
			_, err := host.Run(t.Context(), a, runner.Limits{}, nil)
			if err == nil {
				t.Fatal("done")
			}
			const where = "user_module.py:4 in run_fn: "
			got := asError(t, err)
			if got.Kind != c.kind || !strings.Contains(got.Error(), c.says) || !strings.Contains(got.Error(), where) {
				t.Errorf("got  %s: %v\nwant %s: %s ... %s", got.Kind, got, c.kind, where, c.says)
			}
		})
	}
}
