package stack_test

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stoker-ml/stoker/compute/tf/tftest"
	"github.com/stoker-ml/stoker/events"
	"github.com/stoker-ml/stoker/functions/dispatch"
	"github.com/stoker-ml/stoker/functions/pipeline"
	"github.com/stoker-ml/stoker/local/demo"
)

// moduleRun deploys a pipeline for a TFX module whose run_fn has a body, and returns the outcome of
// a run of it. settings are more lines of its trainer.
func moduleRun(t *testing.T, name, body, settings string) events.Event {
	t.Helper()
	python, path := tftest.Python(t), filepath.Join(t.TempDir(), "user_module.py")
	text := "import os, sys, time\n\ndef run_fn(fn_args):\n    " + strings.ReplaceAll(body, "\n", "\n    ") + "\n"
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	spec, err := pipeline.Parse(name+".yaml", fmt.Appendf(nil, `
pipeline: %s
module: {path: %s, python: %s, keras: 3}
trainer:
  wait_for: [transform]
  skew: off
  max_attempts: 2
  max_crashes: 2
%s`, name, path, python, settings))
	if err != nil {
		t.Fatal(err)
	}
	if _, _, err := dispatch.Apply(t.Context(), shared.Bus, spec); err != nil {
		t.Fatal(err)
	}
	event := demo.Events(penguins(), "monday")[1]
	event.Pipeline, event.ID = name, name+"-transform"
	return outcome(t, event)
}

func TestAMisbehavingModuleFailsAndTheWorkerLivesOn(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name, body, settings string
		kind                 events.FailureKind
		attempts             int // that end by the module's own fault
		says, logged         string
	}{
		{name: "raises", body: `print("training"); raise ValueError("the labels are all the same")`,
			kind: events.FailureModule, attempts: 2, says: "ValueError: the labels are all the same", logged: "training\n"},
		{name: "leaves", body: `sys.exit(3)`, kind: events.FailureModule, attempts: 2, says: "sys.exit(3)"},
		{name: "leaves-in-peace", body: `sys.exit(0)`, kind: events.FailureModule, attempts: 2, says: "sys.exit(0)"},
		{name: "is-gone", body: `print("going", flush=True); os._exit(0)`, kind: events.FailureModule, attempts: 2,
			says: "exited without reporting a result", logged: "going\n"},
		{name: "segfaults", body: `print("reading"); import ctypes; ctypes.string_at(0)`,
			kind: events.FailureCrash, attempts: 2, says: "ended by signal 11", logged: "reading\n"},
		{name: "leaks", body: "kept = []\nfor _ in range(200): kept.append(b'x' * 10_000_000); time.sleep(0.002)",
			settings: "  resources: {memory: 300MiB}\n", kind: events.FailureResources, attempts: 2, says: "300.0 MiB allowed"},
		{name: "never-ends", body: `print("forever", flush=True)` + "\nwhile True: pass",
			settings: "  resources: {timeout: 2s}\n",
			kind:     events.FailureResources, attempts: 2, says: "ran longer than 2s", logged: "forever\n"},
		{name: "prints", body: `for _ in range(100): print("x" * 999_999)` + "\n" + `print("the end"); raise ValueError("loud")`,
			kind: events.FailureModule, attempts: 2, says: "ValueError: loud", logged: "the end\n"},
		{name: "writes-nothing", body: `print("nothing")`,
			kind: events.FailureCheck, attempts: 2, says: "Format-Serving", logged: "nothing\n"},
		{name: "writes-an-empty-model", body: "os.makedirs(fn_args.serving_model_dir)",
			kind: events.FailureCheck, attempts: 2, says: "Format-Serving"},
		{name: "needs-a-package", body: "import no_such_package", kind: events.FailureModule, attempts: 2, says: "no_such_package"},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			event := moduleRun(t, test.name, test.body, test.settings)
			failed, ok := event.Data.(*events.TrainingFailed)
			if !ok {
				t.Fatalf("it became a model: %+v", event.Data)
			}
			// On a loaded machine a lease sometimes expires. That attempt has a number too, and
			// does not count for the limit. That no more attempts than the limit are the module's
			// own is tested with the worker, on a fake clock.
			if failed.Reason != test.kind || failed.Attempt < test.attempts || !strings.Contains(failed.Message, test.says) {
				t.Errorf("%s after %d attempts: %s\nwant %s after at least %d: %s",
					failed.Reason, failed.Attempt, failed.Message, test.kind, test.attempts, test.says)
			}
			if !strings.Contains(failed.LogTail, test.logged) || failed.Log == "" {
				t.Errorf("the log at %q ends in\n%s\nwant %q", failed.Log, failed.LogTail, test.logged)
			}
		})
	}
}

// The model is made by a module that only writes one, on the worker that ran the others.
func TestATFXModuleBecomesAModelNextToThem(t *testing.T) {
	t.Parallel()
	model, err := filepath.Abs("../../../compute/tf/savedmodel/testdata/penguin/model")
	if err != nil {
		t.Fatal(err)
	}
	body := fmt.Sprintf("import shutil\nshutil.copytree(%q, fn_args.serving_model_dir)", model)
	event := moduleRun(t, "behaves", body, "")
	if _, ok := event.Data.(*events.ModelTrained); !ok {
		t.Errorf("no model: %+v", event.Data)
	}
}
