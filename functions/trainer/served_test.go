package trainer_test

import (
	"context"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stoker-ml/stoker/compute/tftest"
	"github.com/stoker-ml/stoker/events"
	"github.com/stoker-ml/stoker/functions/execution"
	"github.com/stoker-ml/stoker/functions/guest"
	"github.com/stoker-ml/stoker/functions/module"
	"github.com/stoker-ml/stoker/functions/trainer"
	"github.com/stoker-ml/stoker/storage"
)

const servedSpec = `
pipeline: penguin
module: builtin:dnn
trainer:
  train_args: {num_steps: 20}
  hyperparameters: none
  custom_config: {label: species}
`

// serves trains the penguins by a Python module, of a kind that testdata/served/served.py has, and returns what is published of it.
func serves(t *testing.T, host *guest.Host, kind, keras string) (*events.ModelTrained, error) {
	t.Helper()
	dir, err := filepath.Abs("testdata/served")
	if err != nil {
		t.Fatal(err)
	}
	b := penguins(t, func(a module.Assignment) (guest.Outcome, error) {
		a.Module = module.Source{Path: dir, RunFn: "served.run_fn", Keras: keras}
		a.CustomConfig = map[string]any{"variant": kind}
		outcome, err := host.Run(t.Context(), a, guest.Limits{}, func(module.Message) {})
		outcome.Module = "" // the module that the job names is another one
		return outcome, err
	})
	b.trainer = trainer.New(execution.New(b.store, b.guest, execution.Options{
		Root: storage.Ref{Bucket: "stoker"}, WorkDir: t.TempDir(), Now: func() time.Time { return time.Unix(1, 0).UTC() },
	}), trainer.Options{Fallback: func(context.Context, module.Source) string { return tftest.Python(t) }})
	return b.handle(t, skewJob(t, "j1", servedSpec, true, true), "a1")
}

func servedHost(t *testing.T) *guest.Host {
	t.Helper()
	host, err := guest.New(guest.Options{Python: tftest.Python(t), CacheDir: t.TempDir()})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(host.Close)
	return host
}

// A right module is never refused, and its answers are compared wherever they can be.
func testRightModules(t *testing.T, kinds map[string]string) {
	host := servedHost(t)
	for kind, notCompared := range kinds {
		t.Run(kind, func(t *testing.T) {
			told, err := serves(t, host, kind, module.Keras3)
			if err != nil {
				t.Fatal(err)
			}
			s := told.Skew
			if s == nil || notCompared == "" && (s.NotCompared != "" || s.Rows == 0 || s.Asked == 0) || !strings.Contains(s.NotCompared, notCompared) {
				t.Errorf("skew %+v, want not compared: %q", s, notCompared)
			}
			t.Logf("%+v", s)
		})
	}
}

func testBrokenModules(t *testing.T, kinds map[string]string) {
	host := servedHost(t)
	for kind, want := range kinds {
		t.Run(kind, func(t *testing.T) {
			told, err := serves(t, host, kind, module.Keras3)
			if kindOf(err) != events.FailureCheck || !strings.Contains(err.Error(), want) {
				t.Errorf("error %v, want a check that failed with %q", err, want)
			}
			if told != nil {
				t.Errorf("published with %+v", told.Skew)
			}
			t.Logf("%.300v", err)
		})
	}
}

func TestModulesThatServeWhatTheyTrainedAreComparedAndPass(t *testing.T) {
	t.Parallel()
	testRightModules(t, map[string]string{"plain": "", "logits": "", "silent": "no model was seen"})
}

func TestModulesThatCannotServeWhatTheyTrainedAreRefused(t *testing.T) {
	t.Parallel()
	testBrokenModules(t, map[string]string{
		"forgets":     `output "probabilities" is [`,
		"needs_label": `has an error for rows without the label "species"`,
		"raises":      "InvalidArgumentError",
	})
}
