package stack_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/stoker-ml/stoker/events"
)

// retuned returns a pipeline that searches with this many steps per trial, and more keys of its
// tuner.
func retuned(steps int, more string) string {
	return fmt.Sprintf(`
pipeline: penguin-retuned
module: builtin:dnn
trainer:
  train_args: {num_steps: 20}
  custom_config: {label_key: species, num_classes: 3}
  skew: off
tuner:
  train_args: {num_steps: %d}
%s`, steps, more)
}

// A search is made if there is none yet, reused while its inputs stay the same, and made again,
// using the results of the last one, or of all before it, on request.
func TestARunIsTunedWhenItIsDue(t *testing.T) {
	t.Parallel()
	const changed = "  when: changed\n  study: {algorithm: random, max_trials: 3}\n"
	run := func(name, spec string, force bool) *events.HParamsReady {
		t.Helper()
		deploy(t, spec)
		event := transformOf("penguin-retuned", name)
		event.Data.(*events.TransformReady).Force = force
		model, hparams := trained(t, event), tuningOf(t, "penguin-retuned", name)
		if fmt.Sprint(model.Hyperparameters) != fmt.Sprint(hparams.Values) {
			t.Errorf("%s: trained with %v, published %v", name, model.Hyperparameters, hparams.Values)
		}
		return hparams
	}
	first := run("monday", retuned(10, changed), false)
	if first.Reused || first.Cached {
		t.Errorf("the first search: %+v", first)
	}
	for name, spec := range map[string]string{
		"tuesday":   retuned(11, changed), // which would be another search
		"wednesday": retuned(12, strings.Replace(changed, "changed", "{every: 7d}", 1)),
	} {
		if got := run(name, spec, false); !got.Reused || got.Cached || got.Study != first.Study || got.Execution != first.Execution {
			t.Errorf("%s: published %+v, it was %+v", name, got, first)
		}
	}
	forced := run("thursday", retuned(11, changed), true)
	if forced.Reused || forced.Study == first.Study {
		t.Errorf("by force: %+v", forced)
	}
	learned := run("friday", retuned(11, "  when: always\n  study: {algorithm: random, max_trials: 3, from: latest}\n"), false)
	log := fileOf(t, learned.Study, "study/log.jsonl")
	begun, _, _ := strings.Cut(log, "\n")
	if strings.Count(begun, `"metrics"`) != 3 || strings.Count(fileOf(t, learned.Study, "tuner_results.json"), "trial_id") != 3 {
		t.Errorf("it learned from %s", begun)
	}
	// Friday's search has itself learned from Thursday's.
	all := run("saturday", retuned(11, "  when: always\n  study: {algorithm: tpe, max_trials: 3, from: all}\n"), false)
	begun, _, _ = strings.Cut(fileOf(t, all.Study, "study/log.jsonl"), "\n")
	if strings.Count(begun, `"study":1`) != 3 || strings.Count(begun, `"study":2`) != 3 || strings.Count(begun, `"metrics"`) != 6 {
		t.Errorf("it learned from %s", begun)
	}
}
