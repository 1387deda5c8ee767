package trainer_test

import (
	"bytes"
	"context"
	"math/rand/v2"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stoker-ml/stoker/compute/data/example"
	"github.com/stoker-ml/stoker/compute/data/tfrecord"
	"github.com/stoker-ml/stoker/compute/tf/tftest"
	"github.com/stoker-ml/stoker/events"
	"github.com/stoker-ml/stoker/functions/execution"
	"github.com/stoker-ml/stoker/functions/execution/trainer"
	"github.com/stoker-ml/stoker/functions/module"
	"github.com/stoker-ml/stoker/functions/runner"
	"github.com/stoker-ml/stoker/storage"
)

const servedSpec = `
pipeline: penguin
module: s3://stoker/code/served.py
trainer:
  train_args: {num_steps: 20}
  hyperparameters: none
  custom_config: {label: species}
`

// serves trains the penguins with a Python module of one of the kinds in testdata/served/served.py,
// and returns what is published.
func serves(t *testing.T, host *runner.Runner, kind, keras string) (*events.ModelTrained, error) {
	t.Helper()
	return servesRows(t, host, kind, keras, true)
}

// servesRows is serves for a run with or without raw examples.
func servesRows(t *testing.T, host *runner.Runner, kind, keras string, raw bool) (*events.ModelTrained, error) {
	t.Helper()
	dir, err := filepath.Abs("testdata/served")
	if err != nil {
		t.Fatal(err)
	}
	b := penguins(t, func(a module.Assignment) (runner.Outcome, error) {
		a.Module = module.Source{Path: dir, RunFn: "served.run_fn", Keras: keras}
		a.CustomConfig = map[string]any{"variant": kind}
		outcome, err := host.Run(t.Context(), a, runner.Limits{}, func(module.Message) {})
		outcome.Module = "" // the bench gives every module another digest
		return outcome, err
	})
	b.put(t, "code/served.py", "# The module is testdata/served/served.py.")
	b.trainer = trainer.New(execution.New(b.store, b.runner, execution.Options{
		Root: storage.Ref{Bucket: "stoker"}, WorkDir: t.TempDir(), Now: func() time.Time { return time.Unix(1, 0).UTC() },
	}), trainer.Options{Fallback: func(context.Context, module.Source) string { return tftest.Python(t) }})
	if strings.HasPrefix(kind, "sequences") {
		return b.handle(t, sequencesJob(t, b), "a1")
	}
	isRaw := strings.HasPrefix(kind, "raw")
	return b.handle(t, skewJob(t, "j1", servedSpec, !isRaw, raw), "a1")
}

// sequencesJob trains on tf.SequenceExamples, with its own number of steps.
func sequencesJob(t *testing.T, b *bench) events.Job {
	t.Helper()
	random := rand.New(rand.NewPCG(1, 2))
	for _, split := range []string{"train", "eval"} {
		var file bytes.Buffer
		w := tfrecord.NewWriter(&file)
		for range 60 {
			price, views := random.Float32(), make([][]float32, 1+random.IntN(4))
			for i := range views {
				views[i] = []float32{random.Float32()}
			}
			row := new(example.Builder).Float("price", price).Int64("sold", int64(random.IntN(2))).FloatSteps("views", views...).Build()
			if err := w.Append(row); err != nil {
				t.Fatal(err)
			}
		}
		if err := w.Close(); err != nil {
			t.Fatal(err)
		}
		b.put(t, "visits/Split-"+split+"/data-0", file.String())
	}
	j := skewJob(t, "j1", servedSpec, false, false)
	j.Inputs.Examples = []events.Examples{{URI: "s3://stoker/visits", PayloadFormat: events.PayloadSequenceExample}}
	return j
}

func servedRunner(t *testing.T) *runner.Runner {
	t.Helper()
	host, err := runner.New(runner.Options{Python: tftest.Python(t), CacheDir: t.TempDir()})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(host.Close)
	return host
}

// A correct module is never refused, and its answers are compared wherever they can be.
func testRightModules(t *testing.T, keras string, kinds map[string]string) {
	host := servedRunner(t)
	for kind, notCompared := range kinds {
		t.Run(kind, func(t *testing.T) {
			published, err := serves(t, host, kind, keras)
			if err != nil {
				t.Fatal(err)
			}
			s := published.Skew
			if s == nil || notCompared == "" && (s.NotCompared != "" || s.Rows == 0 || s.Asked == 0) || !strings.Contains(s.NotCompared, notCompared) {
				t.Errorf("skew %+v, want not compared: %q", s, notCompared)
			}
			t.Logf("%+v", s)
		})
	}
}

func testBrokenModules(t *testing.T, kinds map[string]string) {
	host := servedRunner(t)
	for kind, want := range kinds {
		t.Run(kind, func(t *testing.T) {
			published, err := serves(t, host, kind, module.Keras3)
			if kindOf(err) != events.FailureCheck || !strings.Contains(err.Error(), want) {
				t.Errorf("error %v, want a check that failed with %q", err, want)
			}
			if published != nil {
				t.Errorf("published with %+v", published.Skew)
			}
			t.Logf("%.300v", err)
		})
	}
}

func TestModulesThatServeWhatTheyTrainedAreComparedAndPass(t *testing.T) {
	t.Parallel()
	testRightModules(t, module.Keras3, map[string]string{"plain": "", "logits": "", "silent": "no model was seen"})
}

func TestModulesThatCannotServeWhatTheyTrainedAreRefused(t *testing.T) {
	t.Parallel()
	testBrokenModules(t, map[string]string{
		"forgets":     `output "probabilities" is [`,
		"needs_label": `has an error for rows without the label "species"`,
		"raises":      "InvalidArgumentError",
	})
}

// For a run without raw examples the module predicts synthetic rows; broken modules are refused for
// them and correct ones are not.
func TestModulesAreAskedForSyntheticRowsWithoutRawExamples(t *testing.T) {
	t.Parallel()
	testBrokenWithoutRaw(t, map[string]string{
		"needs_label": `synthetic rows without the label "species"`, "raises": "has an error for each of ", "forgets": syntheticSkew,
	})
	testRightWithoutRaw(t, map[string]string{
		"plain": "", "exported": "transformed ones were fed", "lacks": "perhaps because of the values",
	})
}

const syntheticSkew = "synthetic raw rows, made of the transform graph's raw schema, some answers of the model's files differ"

func testBrokenWithoutRaw(t *testing.T, kinds map[string]string) {
	host := servedRunner(t)
	for kind, want := range kinds {
		published, err := servesRows(t, host, kind, module.Keras3, false)
		if kindOf(err) != events.FailureCheck || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: published %+v, error %v, want a check that failed with %q", kind, published, err, want)
		}
	}
}

// testRightWithoutRaw trains correct modules, whose answers to synthetic rows are compared. kinds
// has a part of the reason why those of the others are not.
func testRightWithoutRaw(t *testing.T, kinds map[string]string) {
	host := servedRunner(t)
	for kind, note := range kinds {
		published, err := servesRows(t, host, kind, module.Keras3, false)
		if err != nil {
			t.Errorf("%s: %v", kind, err)
			continue
		}
		s := published.Skew
		if s == nil || note == "" && (!s.Raw || s.NotCompared != "" || s.Rows < 5 || s.Asked < s.Rows) || !strings.Contains(s.Note+"; "+s.NotCompared, note) {
			t.Errorf("%s: skew %+v, want the note %q", kind, s, note)
		}
	}
}
