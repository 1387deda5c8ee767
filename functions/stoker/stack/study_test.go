package stack_test

import (
	"fmt"
	"strings"
	"testing"
)

// One event: a builtin module's hyperparameters are searched for, without code, and it trains with
// the best. A second run on the same data reuses them.
func TestABuiltinModuleIsTunedWithoutCode(t *testing.T) {
	t.Parallel()
	deploy(t, `
pipeline: penguin-study
module: builtin:dnn
trainer:
  train_args: {num_steps: 20}
  eval_args: {num_steps: 5}
  custom_config: {label_key: species, num_classes: 3}
  skew: off
tuner:
  when: always
  tune_args: {num_parallel_trials: 2}
  custom_config: {label_key: species, num_classes: 3, space: {learning_rate: {min: 0.001, max: 0.1, sampling: log}}}
  study: {algorithm: random, max_trials: 6}
`)
	model := trained(t, transformOf("penguin-study", "monday"))
	hparams := tuningOf(t, "penguin-study", "monday")
	if hparams.Score == nil || hparams.Objective == "" || hparams.Cached || hparams.Values["learning_rate"] == nil {
		t.Errorf("published %+v", hparams)
	}
	if fmt.Sprint(model.Hyperparameters) != fmt.Sprint(hparams.Values) {
		t.Errorf("trained with %v, found %v", model.Hyperparameters, hparams.Values)
	}
	if text := fileOf(t, hparams.Study, "tuner_results.json"); strings.Count(text, "trial_id") != 6 {
		t.Errorf("tuner_results.json is %s", text)
	}
	if text := fileOf(t, hparams.Study, "study/log.jsonl"); strings.Count(text, "\n") < 7 {
		t.Errorf("the log is %s", text)
	}
	trained(t, transformOf("penguin-study", "tuesday"))
	if again := tuningOf(t, "penguin-study", "tuesday"); !again.Cached || again.Study != hparams.Study {
		t.Errorf("published again %+v", again)
	}
}

// With Hyperband, trials resume from one another: the builtin's checkpoints pass through the store,
// and are removed in the end.
func TestABuiltinModuleIsTunedByHyperband(t *testing.T) {
	t.Parallel()
	deploy(t, `
pipeline: penguin-hyperband
module: builtin:dnn
trainer:
  train_args: {num_steps: 45}
  eval_args: {num_steps: 5}
  custom_config: {label_key: species, num_classes: 3}
  skew: off
tuner:
  when: always
  tune_args: {num_parallel_trials: 2}
  study: {algorithm: {name: hyperband, max_epochs: 9}}
`)
	trained(t, transformOf("penguin-hyperband", "monday"))
	hparams := tuningOf(t, "penguin-hyperband", "monday")
	text := fileOf(t, hparams.Study, "tuner_results.json")
	if strings.Count(text, `"trial_id"`) != 23 || strings.Count(text, `"tuner/trial_id"`) != 6 {
		t.Errorf("tuner_results.json is %s", text)
	}
}
