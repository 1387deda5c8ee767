package tuner_test

import (
	"context"
	"iter"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stoker-ml/stoker/compute/tune"
	"github.com/stoker-ml/stoker/events"
)

// shifted is a bus whose clock differs from this machine's.
type shifted struct {
	events.Bus
	by time.Duration
}

func (s shifted) ReadStudy(ctx context.Context, study events.Study, after uint64, follow bool) iter.Seq2[events.StudyEntry, error] {
	return func(yield func(events.StudyEntry, error) bool) {
		for entry, err := range s.Bus.ReadStudy(ctx, study, after, follow) {
			entry.Stored = entry.Stored.Add(s.by)
			if !yield(entry, err) {
				return
			}
		}
	}
}

// A study uses the bus's clock, whatever the time on a machine.
func TestAStudyHasItsTimeByTheBussClock(t *testing.T) {
	t.Parallel()
	for name, by := range map[string]time.Duration{"ahead": time.Hour, "behind": -time.Hour} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				c := oneFloat(tune.Random, 0, 2)
				c.MaxTime = 4500 * time.Millisecond
				p := newPlant(t, c)
				p.patient()
				ctx, stop := context.WithCancel(t.Context())
				var running sync.WaitGroup
				for range 2 {
					running.Go(func() { _ = p.worker(ctx, shifted{p.bus, by}, 1) })
				}
				p.offer("j1", "monday")
				began := time.Now()
				p.hparams("monday")
				took := time.Since(began)
				stop()
				running.Wait()
				study := p.study()
				if took < c.MaxTime || took > 2*c.MaxTime || study.Finished.Why != tune.OutOfTime || len(study.Best()) < 8 {
					t.Errorf("over after %s, with %d trials completed, %+v", took, len(study.Best()), study.Finished)
				}
			})
		})
	}
}
