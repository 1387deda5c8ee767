package stack_test

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stoker-ml/stoker/compute/tf/tftest"
	"github.com/stoker-ml/stoker/events"
	"github.com/stoker-ml/stoker/functions/dispatch"
	"github.com/stoker-ml/stoker/functions/pipeline"
	"github.com/stoker-ml/stoker/storage"
)

// One event: a TFX module file's tuner_fn searches, HParamsReady has the result, and run_fn trains
// with it.
func TestARunIsTunedByItsTFXModuleAndTrainedWithWhatThatFound(t *testing.T) {
	t.Parallel()
	module, err := filepath.Abs("testdata/penguin_tuned.py")
	if err != nil {
		t.Fatal(err)
	}
	deploy(t, fmt.Sprintf(`
pipeline: penguin-tuned
module: {path: %s, python: %s, keras: 3}
trainer:
  train_args: {num_steps: 30}
  eval_args: {num_steps: 2}
  skew: off
tuner:
  when: always
  train_args: {num_steps: 5}
  custom_config: {trials: 2}
`, module, tftest.Python(t)))
	model := trained(t, transformOf("penguin-tuned", "monday"))
	hparams := tuningOf(t, "penguin-tuned", "monday")
	if hparams.Reused || hparams.Score == nil || *hparams.Score < 0 || hparams.Values["num_layers"] == nil {
		t.Errorf("published %+v", hparams)
	}
	if fmt.Sprint(model.Hyperparameters) != fmt.Sprint(hparams.Values) {
		t.Errorf("trained with %v, found %v", model.Hyperparameters, hparams.Values)
	}
	if text := fileOf(t, hparams.Study, "tuner_results.json"); strings.Count(text, "trial_id") != 2 {
		t.Errorf("tuner_results.json is %s", text)
	}
	if text := fileOf(t, hparams.Hyperparameters, "best_hyperparameters.txt"); !strings.HasPrefix(text, `{"space": [{"class_name": "Choice"`) {
		t.Errorf("best_hyperparameters.txt is %s", text)
	}
}

// deploy applies a pipeline.
func deploy(t *testing.T, text string) {
	t.Helper()
	spec, err := pipeline.Parse("pipeline.yaml", []byte(text))
	if err != nil {
		t.Fatal(err)
	}
	if _, _, err := dispatch.Apply(t.Context(), shared.Bus, spec); err != nil {
		t.Fatal(err)
	}
}

// transformOf returns the event of the transformed penguins with their transform graph, whose
// schema is inside it.
func transformOf(pipeline, run string) events.Event {
	return events.Event{ID: run, Source: "/test", Pipeline: pipeline, Run: run, Data: &events.TransformReady{
		TransformGraph:      penguins().Join("transform_graph").String(),
		TransformedExamples: []events.Examples{{URI: penguins().Join("transformed_examples").String()}},
	}}
}

// tuningOf returns the event of a run's tuning in the log.
func tuningOf(t *testing.T, pipeline, run string) *events.HParamsReady {
	t.Helper()
	query := events.Query{Kinds: []events.Kind{events.KindHParamsReady, events.KindTuningFailed}, Pipeline: pipeline, Run: run}
	for recorded, err := range shared.Bus.Read(t.Context(), query) {
		if err != nil {
			t.Fatal(err)
		}
		data, ok := recorded.Event.Data.(*events.HParamsReady)
		if !ok {
			t.Fatalf("%+v", recorded.Event.Data)
		}
		return data
	}
	t.Fatal("no word of its tuning: ", context.Cause(t.Context()))
	return nil
}

// fileOf returns a file of an artifact.
func fileOf(t *testing.T, uri, name string) string {
	t.Helper()
	ref, err := storage.ParseRef(uri)
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	if _, err := storage.StageIn(t.Context(), shared.Store, ref, dir, storage.StageOptions{}); err != nil {
		t.Fatal(err)
	}
	text, err := os.ReadFile(filepath.Join(dir, name))
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

// A run whose pipeline allows no other hyperparameters ends with its search, and reports why; the
// job is a dead letter.
func TestASearchThatFailsIsReportedWithItsTraceback(t *testing.T) {
	t.Parallel()
	module := filepath.Join(t.TempDir(), "user_module.py")
	text := "def tuner_fn(fn_args):\n    print('looking at', fn_args.train_files)\n    raise ValueError('no space to search')\n"
	if err := os.WriteFile(module, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	deploy(t, fmt.Sprintf(`
pipeline: penguin-untuned
module: {path: %s, python: %s, keras: 3}
tuner: {when: always, on_failed: fail}
`, module, tftest.Python(t)))
	event, ok := outcome(t, transformOf("penguin-untuned", "monday")).Data.(*events.TrainingFailed)
	if !ok || event.Reason != events.FailureIncomplete || !strings.HasPrefix(event.Message, "tuning failed: ") || !strings.Contains(event.Message, "no space to search") {
		t.Errorf("published %+v", event)
	}
	query := events.Query{Kinds: []events.Kind{events.KindTuningFailed}, Pipeline: "penguin-untuned"}
	for recorded, err := range shared.Bus.Read(t.Context(), query) {
		if err != nil {
			t.Fatal(err)
		}
		failed := recorded.Event.Data.(*events.TuningFailed)
		if failed.Reason != events.FailureModule || !strings.Contains(failed.LogTail, "user_module.py") || !strings.Contains(failed.Log, "/Tuner/") {
			t.Errorf("published %+v", failed)
		}
		return
	}
	t.Error("no tuning.failed")
}
