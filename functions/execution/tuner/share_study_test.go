package tuner_test

import (
	"context"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/stoker-ml/stoker/compute/tune"
	"github.com/stoker-ml/stoker/functions/execution/tuner/oracle/oraclepb"
	"github.com/stoker-ml/stoker/functions/module"
)

// A pipeline's study settings apply to KerasTuner's own loop too, one trial at a time.
func TestAStudyOfThePipelinesIsSharedWithoutParallelTrials(t *testing.T) {
	t.Parallel()
	p := newShared(t, oneFloat(tune.Random, 9, 1))
	p.spec = strings.Replace(p.spec, "tune_args: {num_parallel_trials: 2}", "study: {max_trials: 3}", 1)
	var tried atomic.Int32
	p.keras(func(context.Context, module.Assignment, *oraclepb.Trial) (float64, error) {
		tried.Add(1)
		return 0.5, nil
	})
	p.with(1, 1, func() {
		p.offer("j1", "monday")
		p.hparams("monday")
		if study := p.study(); len(study.Trials) != 3 || tried.Load() != 3 {
			t.Errorf("%d trials, %d of them KerasTuner's, want the 3 of the pipeline", len(study.Trials), tried.Load())
		}
	})
}
