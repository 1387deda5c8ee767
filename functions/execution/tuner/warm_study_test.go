package tuner_test

import (
	"strings"
	"testing"

	"github.com/stoker-ml/stoker/compute/tune"
	"github.com/stoker-ml/stoker/events"
	"github.com/stoker-ml/stoker/storage"
)

// offerLearning enqueues a tune job that learns from an earlier result.
func (p *plant) offerLearning(id, run, from, pinned string) {
	p.Helper()
	j := job(p.T, id, run, "pipeline: penguin\nmodule: ./penguin_utils.py\ntrainer: {train_args: {num_steps: 100}}\ntuner: {when: always, study: {from: "+from+"}}\n")
	j.Causes = []events.Cause{{Kind: events.KindTransformReady, Source: "/test", ID: "1", Sequence: 1}}
	j.Inputs.Hyperparameters = pinned
	if err := p.bus.Enqueue(p.Context(), j); err != nil {
		p.Fatal(err)
	}
}

func TestASearchLearnsFromTheLastOne(t *testing.T) {
	t.Parallel()
	p := newPlant(t, oneFloat(tune.Random, 6, 2))
	p.with(1, 2, func() {
		p.offer("j1", "monday")
		last := p.hparams("monday")
		p.offerLearning("j2", "tuesday", "latest", last.Hyperparameters)
		second := p.hparams("tuesday")
		if second.Execution == last.Execution || second.Cached {
			t.Errorf("the same search: %+v", second)
		}
		study := p.study()
		if earlier := study.Config.Earlier; len(earlier) != 6 || earlier[0].Metrics["loss"] != *last.Score || len(study.Trials) != 6 {
			t.Errorf("it learned from %+v, and tried %d", earlier, len(study.Trials))
		}
	})
}

func TestASearchThatCanNotLearnFromWhatItNamesFails(t *testing.T) {
	t.Parallel()
	p := newPlant(t, oneFloat(tune.Random, 6, 1))
	if _, err := p.store.Put(t.Context(), storage.Ref{Bucket: "stoker", Key: "up/odd/readme.txt"}, strings.NewReader("x"), 1); err != nil {
		t.Fatal(err)
	}
	for run, tc := range map[string]struct{ from, want string }{
		"odd":  {"s3://stoker/up/odd", "tuner.study.from: s3://stoker/up/odd: expected tuner_results.json or best_hyperparameters.txt in it"},
		"gone": {"s3://stoker/up/gone", "hyperparameters: no object or folder exists at s3://stoker/up/gone"},
	} {
		p.with(1, 1, func() {
			p.offerLearning("j-"+run, run, tc.from, "")
			failed, ok := p.published(run).Data.(*events.TuningFailed)
			if !ok || failed.Reason != events.FailureInput || !strings.Contains(failed.Message, tc.want) {
				t.Errorf("%s: published %+v, want %s", run, failed, tc.want)
			}
		})
	}
}
