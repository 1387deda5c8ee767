//go:build kerastuner

package stack_test

import (
	"context"
	"fmt"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stoker-ml/stoker/compute/tf/tftest"
	"github.com/stoker-ml/stoker/compute/tune"
	"github.com/stoker-ml/stoker/events"
)

// One event: the tuner_fn of a TFX module file, unchanged, searches on two workers at once, and
// run_fn trains with the result.
func TestKerasTunerSharesASearchAmongWorkers(t *testing.T) {
	module, err := filepath.Abs("testdata/penguin_tuned.py")
	if err != nil {
		t.Fatal(err)
	}
	deploy(t, fmt.Sprintf(`
pipeline: penguin-shared
module: {path: %s, python: %s, keras: 3}
trainer:
  train_args: {num_steps: 30}
  eval_args: {num_steps: 2}
  skew: off
tuner:
  when: always
  tune_args: {num_parallel_trials: 2}
  train_args: {num_steps: 2000}
  custom_config: {trials: 4}
`, module, tftest.Python(t)))
	model := trainedWithin(t, 8*time.Minute, transformOf("penguin-shared", "monday"))
	hparams := tuningOf(t, "penguin-shared", "monday")
	if hparams.Score == nil || *hparams.Score <= 0 || hparams.Objective == "" || hparams.Values["num_layers"] == nil {
		t.Errorf("published %+v", hparams)
	}
	if fmt.Sprint(model.Hyperparameters) != fmt.Sprint(hparams.Values) {
		t.Errorf("trained with %v, found %v", model.Hyperparameters, hparams.Values)
	}
	if text := fileOf(t, hparams.Study, "tuner_results.json"); strings.Count(text, "trial_id") != 4 {
		t.Errorf("tuner_results.json is %s", text)
	}
	workers := map[string]bool{}
	for line := range strings.Lines(fileOf(t, hparams.Study, "study/log.jsonl")) {
		entry, err := tune.ParseEntry([]byte(line))
		if err != nil {
			t.Fatal(err)
		}
		for _, started := range entry.Started {
			workers[started.Owner.Job] = true
		}
	}
	if len(workers) != 2 {
		t.Errorf("trials in the hands of %d jobs, expected 2: %v", len(workers), workers)
	}
}

// trainedWithin is trained for a run of two processes with TensorFlow, and of a third one that
// trains.
func trainedWithin(t *testing.T, patience time.Duration, event events.Event) *events.ModelTrained {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	if _, err := shared.Bus.Publish(ctx, event); err != nil {
		t.Fatal(err)
	}
	query := events.Query{Kinds: events.OutcomeKinds(), Pipeline: event.Pipeline, Run: event.Run, Follow: true}
	for recorded, err := range shared.Bus.Read(ctx, query) {
		model, there := recorded.Event.Data.(*events.ModelTrained)
		if err != nil || !there {
			t.Fatalf("%+v, %v", recorded.Event.Data, err)
		}
		return model
	}
	t.Fatal("nothing came of the run: ", context.Cause(ctx))
	return nil
}
