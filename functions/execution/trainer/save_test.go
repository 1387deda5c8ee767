package trainer_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stoker-ml/stoker/events"
	"github.com/stoker-ml/stoker/storage"
	"github.com/stoker-ml/stoker/storage/storagetest"
)

var errStopping = errors.New("this worker stops")

func TestACrashedModuleGoesOnFromItsLastCheckpointOnAnyWorker(t *testing.T) {
	t.Parallel()
	b := setup(t, nil)
	crashed := false
	g := &stepper{steps: 50, every: 10, after: func(_ context.Context, step int) error {
		if step == 37 && !crashed {
			crashed = true
			return crash()
		}
		return nil
	}}
	if _, err := b.shift(t, b.store, g, "a1", 1).handle(t.Context()); kindOf(err) != events.FailureCrash {
		t.Fatalf("kind %q of %v", kindOf(err), err)
	}
	s := b.shift(t, b.store, g, "a2", 2) // another trainer, with a directory of its own
	var phases []string
	s.seen = func(p events.Progress) { phases = append(phases, fmt.Sprintf("%s %d", p.Phase, p.Step)) }
	if _, err := s.handle(t.Context()); err != nil {
		t.Fatal(err)
	}
	if taken := g.all(); taken[36] != 37 || taken[37] != 31 || len(taken) != 37+20 {
		t.Errorf("steps taken: %v", taken)
	}
	if !slices.Contains(phases, "resuming 30") {
		t.Errorf("phases %q", phases)
	}
	if left := checkpointKeys(t, b); len(left) > 0 {
		t.Errorf("after the commit there are %q", left)
	}
}

func TestAStoppingWorkerLosesNoStep(t *testing.T) {
	t.Parallel()
	b := setup(t, nil)
	ctx, stop := context.WithCancelCause(t.Context())
	g := &stepper{steps: 50, every: 10, after: func(_ context.Context, step int) error {
		if step == 37 {
			stop(errStopping)
		}
		return nil
	}}
	if _, err := b.shift(t, b.store, g, "a1", 1).handle(ctx); kindOf(err) != events.FailureUnavailable {
		t.Fatalf("kind %q of %v", kindOf(err), err)
	}
	if _, err := b.shift(t, b.store, g, "a2", 2).handle(t.Context()); err != nil {
		t.Fatal(err)
	}
	if taken := g.all(); len(taken) != 50 || taken[37] != 38 {
		t.Errorf("steps taken: %v", taken)
	}
}

func TestOfCheckpointsThatWaitTheNewestIsSent(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		b := setup(t, nil)
		var sent atomic.Int64
		slow := storagetest.Faulty(watched{b.store, func(op, key string) {
			if op == "put" && strings.HasSuffix(key, "state/step") {
				sent.Add(1)
			}
		}}, func(c storagetest.Call) storagetest.Fault {
			if strings.HasSuffix(c.Ref.Key, "state/step") && c.Op == storagetest.OpPut {
				return storagetest.Fault{Delay: 25 * time.Second}
			}
			return storagetest.Fault{}
		})
		g := &stepper{steps: 60, every: 10, after: func(_ context.Context, step int) error {
			time.Sleep(time.Second)
			if step == 59 {
				return crash()
			}
			return nil
		}}
		// Saved at 10, 20, ... 50 s. Uploaded: that of 10 s until 35, that of 30 s until 60, that
		// of 50 s after the crash.
		if _, err := b.shift(t, slow, g, "a1", 1).handle(t.Context()); kindOf(err) != events.FailureCrash {
			t.Fatalf("kind %q of %v", kindOf(err), err)
		}
		if sent.Load() != 3 {
			t.Errorf("sent %d", sent.Load())
		}
		g.after = nil
		if _, err := b.shift(t, b.store, g, "a2", 2).handle(t.Context()); err != nil {
			t.Fatal(err)
		}
		if taken := g.all(); taken[59] != 51 {
			t.Errorf("went on at %d", taken[59])
		}
	})
}

func TestATrainingDoesNotDependOnItsCheckpoints(t *testing.T) {
	t.Parallel()
	for name, op := range map[string]storagetest.Op{"files": storagetest.OpPut, "pointer": storagetest.OpPutIf} {
		synctest.Test(t, func(t *testing.T) {
			b := setup(t, nil)
			refused := atomic.Int64{}
			store := storagetest.Faulty(b.store, func(c storagetest.Call) storagetest.Fault {
				if c.Op == op && strings.Contains(c.Ref.Key, "checkpoint") {
					refused.Add(1)
					return storagetest.Fault{Refuse: storage.ErrUnavailable}
				}
				return storagetest.Fault{}
			})
			g := &stepper{steps: 50, every: 10, after: func(context.Context, int) error { synctest.Wait(); return nil }}
			if _, err := b.shift(t, store, g, "a1", 1).handle(t.Context()); err != nil || refused.Load() == 0 {
				t.Errorf("%s: %d refused, %v", name, refused.Load(), err)
			}
			if left := checkpointKeys(t, b); len(left) > 0 {
				t.Errorf("%s: left %q", name, left)
			}
		})
	}
}

// A store that hangs does not delay a stopping worker for longer than it can afford, nor one whose
// job is cancelled at all.
func TestAHangingCheckpointIsAbandoned(t *testing.T) {
	t.Parallel()
	// A module has one second.
	for cause, most := range map[error]time.Duration{errStopping: 2 * time.Second, events.ErrCancelled: 0} {
		synctest.Test(t, func(t *testing.T) {
			b := setup(t, nil)
			hangs := storagetest.Faulty(b.store, func(c storagetest.Call) storagetest.Fault {
				if strings.Contains(c.Ref.Key, "/checkpoints/") {
					return storagetest.Fault{Delay: time.Hour}
				}
				return storagetest.Fault{}
			})
			ctx, stop := context.WithCancelCause(t.Context())
			g := &stepper{steps: 50, every: 10, after: func(_ context.Context, step int) error {
				if step == 37 {
					stop(cause)
				}
				return nil
			}}
			began := time.Now()
			if _, err := b.shift(t, hangs, g, "a1", 1).handle(ctx); err == nil {
				t.Error("no error")
			}
			if took := time.Since(began); took > most {
				t.Errorf("%v: left after %s", cause, took)
			}
		})
	}
}

// A zombie is frozen at any of its writes and wakes when another attempt has the job: then it makes
// no write that was not permitted before.
func TestAZombieWritesNothing(t *testing.T) {
	t.Parallel()
	for n := 1; ; n++ {
		b := setup(t, nil)
		ctx, lose := context.WithCancelCause(t.Context())
		var lost atomic.Bool
		var proved, written atomic.Int64
		store := watched{b.store, func(op, key string) {
			if written.Add(1) > proved.Load() {
				t.Errorf("frozen at write %d: %s %s without a proof", n, op, key)
			}
			if written.Load() >= int64(n) {
				lost.Store(true)
			}
		}}
		g := &stepper{steps: 50, every: 10, after: func(context.Context, int) error {
			if lost.Load() {
				lose(events.ErrLeaseLost) // as KeepAlive does when it wakes
			}
			return nil
		}}
		s := b.shift(t, store, g, "a1", 1)
		s.prove = func() error {
			if lost.Load() {
				return events.ErrLeaseLost
			}
			proved.Add(1)
			return nil
		}
		_, err := s.handle(ctx)
		lose(nil)
		committed := slices.ContainsFunc(b.keys(t, "penguin/"), func(key string) bool { return strings.HasSuffix(key, "commit.json") })
		if err == nil && !committed {
			t.Errorf("frozen at write %d: published a model that is not committed", n)
		}
		if !lost.Load() { // there were no more writes
			if n < 8 {
				t.Errorf("only %d writes", n)
			}
			return
		}
	}
}

func TestALostLeaseEndsATrainingWithoutAnotherWrite(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		b := setup(t, nil)
		ctx, lose := context.WithCancelCause(t.Context())
		var lost atomic.Bool
		store := watched{b.store, func(op, key string) {
			if lost.Load() {
				t.Errorf("%s %s", op, key)
			}
		}}
		g := &stepper{steps: 50, every: 10, after: func(_ context.Context, step int) error {
			if step == 45 {
				synctest.Wait() // no checkpoint is under way
				lost.Store(true)
				lose(events.ErrLeaseLost)
			}
			return nil
		}}
		s := b.shift(t, store, g, "a1", 1)
		s.prove = func() error {
			if lost.Load() {
				return events.ErrLeaseLost
			}
			return nil
		}
		if _, err := s.handle(ctx); err == nil {
			t.Error("no error")
		}
		if len(checkpointKeys(t, b)) == 0 {
			t.Error("no checkpoint was saved before")
		}
	})
}

// The worker dies without a word, at any step: another one continues from less than one interval
// before.
func TestALostWorkerCostsAtMostOneInterval(t *testing.T) {
	t.Parallel()
	for last := 1; last < 50; last += 3 {
		synctest.Test(t, func(t *testing.T) {
			b := setup(t, nil)
			ctx, lose := context.WithCancelCause(t.Context())
			var lost atomic.Bool
			g := &stepper{steps: 50, every: 10}
			g.after = func(_ context.Context, step int) error {
				time.Sleep(time.Second)
				if step == last && !lost.Swap(true) {
					lose(events.ErrLeaseLost)
				}
				return nil
			}
			s := b.shift(t, b.store, g, "a1", 1)
			s.prove = func() error {
				if lost.Load() {
					return events.ErrLeaseLost
				}
				return nil
			}
			if _, err := s.handle(ctx); err == nil {
				t.Fatal("no error")
			}
			if _, err := b.shift(t, b.store, g, "a2", 2).handle(t.Context()); err != nil {
				t.Fatal(err)
			}
			if again := len(g.all()) - 50; again > 10 {
				t.Errorf("lost after step %d: %d steps were taken again", last, again)
			}
		})
	}
}

func TestADamagedCheckpointCostsNoModel(t *testing.T) {
	t.Parallel()
	b := setup(t, nil)
	g := &stepper{steps: 50, every: 10, after: func(_ context.Context, step int) error {
		if step == 37 {
			return crash()
		}
		return nil
	}}
	if _, err := b.shift(t, b.store, g, "a1", 1).handle(t.Context()); err == nil {
		t.Fatal("no crash")
	}
	for _, key := range checkpointKeys(t, b) {
		b.put(t, key, "{")
	}
	g.after = nil
	if _, err := b.shift(t, b.store, g, "a2", 2).handle(t.Context()); err != nil || g.all()[37] != 1 {
		t.Errorf("%v, steps %v", err, g.all())
	}
}

func TestACheckpointThatWasNotReadIsNotBegunWithout(t *testing.T) {
	t.Parallel()
	b := setup(t, writesModel)
	store := storagetest.Faulty(b.store, func(c storagetest.Call) storagetest.Fault {
		if strings.HasSuffix(c.Ref.Key, "/checkpoint.json") {
			return storagetest.Fault{Refuse: storage.ErrUnavailable}
		}
		return storagetest.Fault{}
	})
	_, err := b.shift(t, store, b.runner, "a1", 1).handle(t.Context())
	if kindOf(err) != events.FailureUnavailable || b.runner.runs.Load() > 0 {
		t.Errorf("kind %q of %v, %d trainings", kindOf(err), err, b.runner.runs.Load())
	}
}
