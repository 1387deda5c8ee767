package trainer_test

import (
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"syscall"
	"testing"

	"github.com/stoker-ml/stoker/compute/tf/skew"
	"github.com/stoker-ml/stoker/events"
	"github.com/stoker-ml/stoker/functions/module"
	"github.com/stoker-ml/stoker/functions/module/builtin"
	"github.com/stoker-ml/stoker/functions/pipeline"
	"github.com/stoker-ml/stoker/functions/runner"
	"github.com/stoker-ml/stoker/storage"
)

const skewSpec = `
pipeline: penguin
module: builtin:dnn
trainer:
  train_args: {num_steps: 20}
  hyperparameters: none
  custom_config: {label: species}
`

// trains is a module that trains the penguins in this process. spoil may change its outputs.
func trains(t *testing.T, spoil func(module.Assignment) error) func(module.Assignment) (runner.Outcome, error) {
	return func(a module.Assignment) (outcome runner.Outcome, err error) {
		err = builtin.Run(t.Context(), "dnn", a, func(m module.Message) { outcome.Metrics = m.Metrics })
		if err == nil && spoil != nil {
			err = spoil(a)
		}
		return outcome, err
	}
}

// penguins returns a bench with the penguins, raw and transformed, and their transform graph.
func penguins(t *testing.T, run func(module.Assignment) (runner.Outcome, error)) *bench {
	t.Helper()
	b := setup(t, run)
	at := func(key string) storage.Ref { return storage.Ref{Bucket: "stoker", Key: "penguins/" + key} }
	upload(t, b.store, at("tx"), "../../../compute/data/example/testdata/penguin/transformed_examples")
	upload(t, b.store, at("raw"), "../../../compute/data/example/testdata/penguin/examples")
	upload(t, b.store, at("schema"), "../../../compute/data/example/testdata/penguin/schema")
	upload(t, b.store, at("graph"), "../../../compute/tf/savedmodel/testdata/penguin/transform_graph")
	return b
}

func skewJob(t *testing.T, id, text string, transformed, raw bool) events.Job {
	t.Helper()
	j := job(t, id, "monday", text)
	j.Inputs = events.Inputs{}
	if transformed {
		j.Inputs.TransformGraph = "s3://stoker/penguins/graph"
		j.Inputs.TransformedExamples = []events.Examples{{URI: "s3://stoker/penguins/tx"}}
	}
	if raw {
		j.Inputs.Examples = []events.Examples{{URI: "s3://stoker/penguins/raw"}}
		j.Inputs.Schema = "s3://stoker/penguins/schema"
	}
	if raw && transformed {
		j.Inputs.Schema = ""
	}
	return j
}

func TestAModelIsComparedWithItsFiles(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		transformed, raw bool
		note             string
	}{
		"raw and transformed rows": {true, true, ""},
		"transformed rows alone":   {true, false, "there are no raw rows: transformed ones were fed to the signature predict_tensors"},
		"raw rows alone":           {false, true, ""},
		"raw rows and a graph":     {false, true, "transformed features are not compared: there are no transformed rows"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b := penguins(t, trains(t, nil))
			j := skewJob(t, "j1", skewSpec, tt.transformed, tt.raw)
			if name == "raw rows and a graph" {
				j.Inputs.TransformGraph = "s3://stoker/penguins/graph"
			}
			published, err := b.handle(t, j, "a1")
			if err != nil {
				t.Fatal(err)
			}
			got := published.Skew
			if got == nil || got.Rows != 100 || got.Raw != tt.raw || got.Tolerance != 1e-5 || got.MaxAbs > 1e-5 ||
				!slices.Equal(got.By, []string{"go"}) || !strings.HasPrefix(got.Note, tt.note) || tt.note == "" && got.Note != "" {
				t.Errorf("skew %+v", got)
			}
			j.Run, j.ID = "tuesday", "j2"
			again, err := b.handle(t, j, "a2")
			if err != nil || !again.Cached || again.Skew == nil || again.Skew.Rows != 100 {
				t.Errorf("found again: %+v, %v", again.Skew, err)
			}
		})
	}
}

// otherWeights replaces the model that the module trained by one with another seed.
func otherWeights(t *testing.T, a module.Assignment) error {
	other := a
	other.Seed, other.Predictions, other.ModelRunDir, other.WorkingDir, other.EvalModelDir = a.Seed+1, nil, "", "", ""
	other.ServingModelDir = filepath.Join(t.TempDir(), "model")
	if err := builtin.Run(t.Context(), "dnn", other, func(module.Message) {}); err != nil {
		return err
	}
	if err := os.RemoveAll(a.ServingModelDir); err != nil {
		return err
	}
	return os.CopyFS(a.ServingModelDir, os.DirFS(other.ServingModelDir))
}

func TestAModelThatIsNotItsFilesIsNotPublished(t *testing.T) {
	t.Parallel()
	for _, transformed := range []bool{true, false} {
		b := penguins(t, trains(t, func(a module.Assignment) error { return otherWeights(t, a) }))
		_, err := b.handle(t, skewJob(t, "j1", skewSpec, transformed, !transformed), "a1")
		want := regexp.MustCompile(`train/serve skew: of 100 rows some answers of the model's files differ by more than 1e-05 from what was trained, ` +
			`by up to [0-9.]+: row 0: output "logits" is \[`)
		if kindOf(err) != events.FailureCheck || !want.MatchString(err.Error()) {
			t.Errorf("kind %q of %v, want check of %s", kindOf(err), err, want)
		}
		if keys := b.keys(t, "penguin/Trainer/model"); len(keys) > 0 {
			t.Errorf("visible: %v", keys)
		}
		published, err := b.handle(t, skewJob(t, "j2", skewSpec+"  skew: off\n", transformed, !transformed), "a2")
		if err != nil || published.Skew != nil {
			t.Errorf("with skew off: %+v, %v", published, err)
		}
	}
}

// A comparison that is impossible is reported, and does not delay the model.
func TestWhyAModelIsNotComparedIsReported(t *testing.T) {
	t.Parallel()
	b := setup(t, writesModel)
	published, err := b.handle(t, job(t, "j1", "monday", spec), "a1")
	if err != nil {
		t.Fatal(err)
	}
	if s := published.Skew; s == nil || s.Rows != 0 || s.Asked != 0 || !strings.HasPrefix(s.Note, "not checked: transformed rows: record 0 of ") || "not checked: "+s.NotCompared != s.Note {
		t.Errorf("skew %+v", s)
	}
	b = penguins(t, trains(t, nil))
	j := skewJob(t, "j2", skewSpec, true, true)
	j.Inputs.Examples[0].URI = "s3://stoker/penguins/nowhere"
	if published, err = b.handle(t, j, "a1"); err != nil || published.Skew == nil || published.Skew.Raw || published.Skew.Rows != 100 {
		t.Errorf("raw rows that aren't there: %+v, %v", published, err)
	}
}

// The default rows and tolerance of a pipeline are those that the comparison documents.
func TestPipelinesAndComparisonsKnowTheSameDefaults(t *testing.T) {
	t.Parallel()
	p, err := pipeline.Parse("p.yaml", []byte(skewSpec))
	if err != nil {
		t.Fatal(err)
	}
	if want := (pipeline.Skew{Check: true, Rows: skew.DefaultRows, Tolerance: skew.DefaultTolerance}); p.Trainer.Skew != want {
		t.Errorf("skew %+v, want %+v", p.Trainer.Skew, want)
	}
}

// A pipeline that asks for a comparison does not find a model that was not compared, or not as
// strictly.
func TestAnotherComparisonIsAnotherExecution(t *testing.T) {
	t.Parallel()
	b := setup(t, writesModel)
	execution := func(id, skew string) string {
		t.Helper()
		published, err := b.handle(t, job(t, id, "monday", spec+"  skew: "+skew+"\n"), "a-"+id)
		if err != nil {
			t.Fatal(err)
		}
		return published.Execution
	}
	off, on, strict, same := execution("j1", "off"), execution("j2", "on"), execution("j3", "{tolerance: 1e-9}"), execution("j4", "{rows: 100}")
	if off == on || on == strict || same != on {
		t.Errorf("executions %s when off, %s when on, %s when stricter, %s as by default", off, on, strict, same)
	}
}

// The pipe has no writer, so the worker would wait forever.
func TestLabelsThatAreAPipeFailTheAttempt(t *testing.T) {
	t.Parallel()
	b := penguins(t, trains(t, func(a module.Assignment) error {
		_ = os.Remove(a.Predictions.LabelsPath)
		return syscall.Mkfifo(a.Predictions.LabelsPath, 0o600)
	}))
	if _, err := b.handle(t, skewJob(t, "j1", skewSpec, true, true), "a1"); err == nil || !strings.Contains(err.Error(), "not a regular file") {
		t.Errorf("got %v", err)
	}
}
