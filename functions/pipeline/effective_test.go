package pipeline_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/stoker-ml/stoker/functions/pipeline"
)

// effective parses a pipeline and returns its effective form, after checking that this can be
// applied again.
func effective(t *testing.T, text string) string {
	t.Helper()
	p := parse(t, text)
	before := canonical(t, p)
	shown, err := p.Effective()
	if err != nil {
		t.Fatal(err)
	}
	again, err := pipeline.FromJSON(shown)
	if err != nil {
		t.Fatalf("%s\ncan't be applied again: %v", shown, err)
	}
	if back, err := again.Effective(); err != nil || string(back) != string(shown) {
		t.Errorf("applied again it is\n%s, %v\nwant\n%s", back, err, shown)
	}
	if after := canonical(t, p); after != before {
		t.Errorf("the canonical form changed from\n%s\nto\n%s", before, after)
	}
	return string(shown)
}

func TestTheEffectivePipelineHasEveryDefault(t *testing.T) {
	t.Parallel()
	const want = `{"pipeline":"p","module":"./m.py","trainer":{"wait_for":["transform"],"train_args":{"splits":["train"]},"eval_args":{"splits":["eval"]},` +
		`"hyperparameters":"latest","base_model":"none","cache":"on","expire_after":"168h","model":"saved_model",` +
		`"skew":{"check":"on","rows":100,"tolerance":0.00001},"resources":{"class":"cpu","workers":1},"max_attempts":1,"max_crashes":3,"max_lost":5,"seed":0,` +
		`"window":0,"deterministic":"off"}}`
	if diff := cmp.Diff(want, effective(t, "pipeline: p\nmodule: ./m.py\n")); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

func TestTheEffectiveTunerHasWhatItTakesFromTheTrainer(t *testing.T) {
	t.Parallel()
	const head = "pipeline: p\nmodule: ./m.py\ntrainer: {train_args: {num_steps: 9}, custom_config: {k: 1}, max_attempts: 2, " +
		"resources: {class: gpu, memory: 1GiB, workers: 2}}\n"
	const want = `{"pipeline":"p","module":"./m.py","trainer":{"wait_for":["transform","hparams"],"train_args":{"num_steps":9,"splits":["train"]},"eval_args":{"splits":["eval"]},` +
		`"hyperparameters":"run","base_model":"none","cache":"on","expire_after":"168h","custom_config":{"k":1},"model":"saved_model",` +
		`"skew":{"check":"on","rows":100,"tolerance":0.00001},"resources":{"class":"gpu","memory":"1GiB","workers":2,"strategy":"multi_worker"},"max_attempts":2,"max_crashes":3,"max_lost":5,"seed":0,` +
		`"window":0,"deterministic":"off"},"tuner":{"when":"changed","drift":0.1,"train_args":{"num_steps":9,"splits":["train"]},"eval_args":{"splits":["eval"]},` +
		`"custom_config":{"k":1},"resources":{"class":"gpu","memory":"1GiB","workers":1},"max_attempts":2,"max_crashes":3,"max_lost":5,"on_failed":"latest"}}`
	if diff := cmp.Diff(want, effective(t, head+"tuner: {when: changed}\n")); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	for _, tuner := range []string{
		"{when: never}", "{when: {every: 7d}, max_lost: 2}", "{when: always, drift: null, custom_config: {}}", "{when: changed, drift: 1, resources: {strategy: mirrored}}",
		"{when: always, study: {algorithm: hyperband, objective: [val_accuracy, {name: latency, direction: min}], stopping: median, max_trials: 3}}",
	} {
		effective(t, head+"tuner: "+tuner+"\n")
	}
}

func TestTheEffectiveStudyHasItsDirections(t *testing.T) {
	t.Parallel()
	p := parse(t, "pipeline: p\nmodule: ./m.py\ntuner: {when: always, study: {objective: val_accuracy}}\n")
	explicit := parse(t, "pipeline: p\nmodule: ./m.py\ntuner: {when: always, max_lost: 5, study: {best_model: off, objective: {name: val_accuracy, direction: max}}}\n")
	if changes, err := pipeline.Diff(p, explicit); err != nil || len(changes) != 0 {
		t.Errorf("%s, %v", changes, err)
	}
	if p.Tuner.Study.Objective[0].Direction != "" {
		t.Error("the pipeline itself was changed")
	}
}
