package tuner_test

import (
	"context"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"

	"github.com/stoker-ml/stoker/compute/tune"
	"github.com/stoker-ml/stoker/functions/module"
	"github.com/stoker-ml/stoker/functions/runner"
)

// A trial had left a checkpoint when its study was cancelled. Another run's job tries it again from
// the beginning; the states that this try leaves on the way and at the end, at earlier steps,
// replace the old ones.
func TestWhatATrialLeavesCountsWhoeverLeftSomethingBefore(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		c := oneFloat(tune.Hyperband, 0, 1)
		c.Algorithm.MaxEpochs = 3
		p := newPlant(t, c)
		p.spec += "  study: {best_model: on}\n"
		far := make(chan struct{})
		var once sync.Once
		p.trial = func(ctx context.Context, a module.Assignment, on func(module.Message)) (metrics map[string]float64, err error) {
			state := filepath.Join(a.WorkingDir, "state")
			if a.Trial.Parent != "" {
				if text, err := os.ReadFile(state); err != nil || string(text) != "end of "+a.Trial.Parent {
					t.Errorf("trial %s goes on from %s, and found %q, %v", a.Trial.ID, a.Trial.Parent, text, err)
				}
			}
			first := false
			once.Do(func() { first = true })
			if first {
				if err := os.WriteFile(state, []byte("far"), 0o600); err != nil {
					t.Error(err)
				}
				on(module.Message{Type: module.MessageProgress, Step: 90, Metrics: map[string]float64{"loss": 1}})
				on(module.Message{Type: module.MessageCheckpoint, Step: 90})
				close(far)
				<-ctx.Done()
				return nil, &runner.Error{Kind: runner.KindStopped, Err: context.Cause(ctx)}
			}
			on(module.Message{Type: module.MessageProgress, Step: 10, Metrics: map[string]float64{"loss": valueOf(a, "x")}})
			if err = os.MkdirAll(a.ServingModelDir, 0o755); err == nil {
				err = os.WriteFile(filepath.Join(a.ServingModelDir, "saved_model.pb"), []byte(a.Trial.ID), 0o600)
			}
			if err == nil {
				err = os.WriteFile(state, []byte("end of "+a.Trial.ID), 0o600)
			}
			return map[string]float64{"loss": valueOf(a, "x")}, err
		}
		p.with(1, 1, func() {
			p.offer("j1", "monday")
			<-far
			if err := p.bus.Cancel(t.Context(), "j1"); err != nil {
				t.Fatal(err)
			}
			p.published("monday")
			p.offer("j2", "tuesday")
			p.hparams("tuesday")
		})
		if study := p.study(); len(study.Trials) != len(study.Best()) || len(p.tried) != len(study.Trials)+1 {
			t.Errorf("%d of %d completed in %d tries", len(study.Best()), len(study.Trials), len(p.tried))
		}
		if keys := keysOf(t, p.store); slices.ContainsFunc(keys, func(key string) bool { return strings.Contains(key, "checkpoint") }) {
			t.Errorf("left %v", keys)
		}
	})
}
