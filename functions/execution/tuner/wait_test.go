package tuner_test

import (
	"context"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stoker-ml/stoker/compute/tune"
	"github.com/stoker-ml/stoker/functions/module"
)

// A tune job only waits for another worker's trial, which takes long. Its slot does other jobs
// meanwhile, and the study's result is published when the study ends.
func TestAWaitingTuneJobHoldsNoSlotAndPublishesAtOnce(t *testing.T) {
	t.Parallel()
	for _, long := range []time.Duration{17300 * time.Millisecond, 31900 * time.Millisecond} {
		synctest.Test(t, func(t *testing.T) {
			p := newPlant(t, oneFloat(tune.Random, 2, 2))
			var began atomic.Int32
			var ended atomic.Value
			p.trial = func(_ context.Context, a module.Assignment, _ func(module.Message)) (map[string]float64, error) {
				if began.Add(1) == 2 { // not the tune job's own trial, which is the first
					time.Sleep(long)
					ended.Store(time.Now())
				}
				return map[string]float64{"loss": valueOf(a, "x")}, nil
			}
			p.with(2, 1, func() {
				p.offer("j1", "monday")
				time.Sleep(15 * time.Second)
				if began.Load() != 2 {
					t.Fatalf("%d trials have begun", began.Load())
				}
				p.spec += "  study: {max_trials: 1}\n"
				p.offer("j2", "tuesday")
				p.hparams("tuesday")
				if ended.Load() != nil {
					t.Error("the slot of a job that waits did no other job")
				}
				p.hparams("monday")
				if late := time.Since(ended.Load().(time.Time)); late > 100*time.Millisecond {
					t.Errorf("the end of the study was published %v late", late)
				}
			})
		})
	}
}
