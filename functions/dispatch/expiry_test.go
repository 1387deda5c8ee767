package dispatch_test

import (
	"bytes"
	"context"
	"errors"
	"iter"
	"log/slog"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stoker-ml/stoker/events"
	"github.com/stoker-ml/stoker/events/bustest"
	"github.com/stoker-ml/stoker/functions/dispatch"
	"github.com/stoker-ml/stoker/functions/dispatch/join"
)

const expiring = `
pipeline: penguin
module: builtin:dnn
trainer: {hyperparameters: run, expire_after: 2h}
`

// failures returns the TrainingFailed events of a run.
func failures(t *testing.T, bus events.Bus, run string) (all []events.Event) {
	t.Helper()
	query := events.Query{Kinds: []events.Kind{events.KindTrainingFailed}, Pipeline: "penguin", Run: run}
	for r, err := range bus.Read(t.Context(), query) {
		if err != nil {
			t.Fatal(err)
		}
		all = append(all, r.Event)
	}
	return all
}

func sweep(t *testing.T, d *dispatch.Dispatcher) {
	t.Helper()
	if err := d.Sweep(t.Context()); err != nil {
		t.Fatal(err)
	}
}

func joinOf(t *testing.T, bus events.Bus, run string) join.Join {
	t.Helper()
	j, err := dispatch.ReadJoin(t.Context(), bus, "penguin", run)
	if err != nil {
		t.Fatal(err)
	}
	return j
}

func TestARunThatWaitsForTooLongEndsOnceAndNamesWhatWasMissing(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		bus, d := setup(t, expiring)
		publish(t, bus, "monday", "t", transform())
		drain(t, d)
		time.Sleep(2 * time.Hour)
		sweep(t, d)
		if early := failures(t, bus, "monday"); len(early) != 0 {
			t.Fatalf("expired at its deadline: %+v", early)
		}
		time.Sleep(time.Second)
		other, err := dispatch.New(t.Context(), bus, nil)
		if err != nil {
			t.Fatal(err)
		}
		for range 3 {
			sweep(t, d)
			sweep(t, other)
		}
		got := failures(t, bus, "monday")
		if len(got) != 1 {
			t.Fatalf("%d failures, want one", len(got))
		}
		data := got[0].Data.(*events.TrainingFailed)
		want := "waited for hparams.ready since 2000-01-01T00:00:00Z, and expired after 2h"
		if data.Reason != events.FailureIncomplete || data.Message != want || got[0].Causation != "t" {
			t.Errorf("failed with %s: %s (because of %s)", data.Reason, data.Message, got[0].Causation)
		}
	})
}

func TestALateEventOfAnExpiredRunChangesNothing(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		bus, _ := setup(t, expiring)
		var log bytes.Buffer
		d, err := dispatch.New(t.Context(), bus, slog.New(slog.NewTextHandler(&log, nil)))
		if err != nil {
			t.Fatal(err)
		}
		publish(t, bus, "monday", "t", transform())
		drain(t, d)
		time.Sleep(3 * time.Hour)
		sweep(t, d)
		publish(t, bus, "monday", "h", hparams("s3://bkt/hp"))
		drain(t, d)
		if got := jobs(t, bus); len(got) != 0 {
			t.Errorf("%d jobs of a run that expired", len(got))
		}
		if j := joinOf(t, bus, "monday"); j.State != join.Ended || !j.Ending.Announced || len(j.Events) != 1 {
			t.Errorf("the tombstone is %+v", j)
		}
		if !strings.Contains(log.String(), `msg="event ignored" pipeline=penguin run=monday kind=hparams.ready id=h `) {
			t.Errorf("the log does not say so:\n%s", log.String())
		}
	})
}

// A run expires when a sweep finds that it has waited too long, by all events in the log at that
// time: events that no dispatcher has handled yet count, and so do late ones that arrive before the
// sweep.
func TestEventsThatTheLogHoldsWhenARunExpiresCount(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		bus, d := setup(t, expiring)
		publish(t, bus, "in time, but nobody was there to handle it", "t", transform())
		publish(t, bus, "late, but nobody swept", "t", transform())
		publish(t, bus, "too late", "t", transform())
		for range 3 { // the first event of each run
			if err := d.Next(t.Context(), 0); err != nil {
				t.Fatal(err)
			}
		}
		time.Sleep(time.Hour)
		publish(t, bus, "in time, but nobody was there to handle it", "h", hparams("s3://bkt/hp"))
		time.Sleep(2 * time.Hour)
		publish(t, bus, "late, but nobody swept", "h", hparams("s3://bkt/hp"))
		sweep(t, d) // runs before the dispatchers that handle events
		publish(t, bus, "too late", "h", hparams("s3://bkt/hp"))
		drain(t, d)
		wantJobs(t, bus, "both that had all their events", "in time, but nobody was there to handle it", "late, but nobody swept")
		late := failures(t, bus, "too late")
		if len(late) != 1 || late[0].Data.(*events.TrainingFailed).Through != 3 {
			t.Errorf("failures of the run that expired: %+v", late)
		}
	})
}

func TestAnEndThatWasNotAnnouncedIsAnnouncedByTheNextSweep(t *testing.T) {
	t.Parallel()
	for effects, when := range map[int]string{2: "before it was announced", 3: "before it was marked"} {
		synctest.Test(t, func(t *testing.T) {
			bus, d := setup(t, expiring)
			publish(t, bus, "monday", "t", transform())
			drain(t, d)
			time.Sleep(3 * time.Hour)
			// The first effect reads the time.
			dying := newCrashing(bus, effects+1, false, func(events.Job) {})
			other, err := dispatch.New(t.Context(), dying, nil)
			if err != nil {
				t.Fatal(err)
			}
			if err := other.Sweep(t.Context()); err == nil {
				t.Fatalf("%s: nothing went wrong", when)
			}
			if j := joinOf(t, bus, "monday"); j.State != join.Ended || j.Ending.Announced {
				t.Fatalf("%s: the join is %+v", when, j)
			}
			sweep(t, d)
			if got := failures(t, bus, "monday"); len(got) != 1 || !joinOf(t, bus, "monday").Ending.Announced {
				t.Errorf("%s: announced %d times", when, len(got))
			}
		})
	}
}

func TestHyperparametersThatNoRunWaitsForMakeNoRun(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		bus, d := setup(t, alone)
		publish(t, bus, "tuning", "h", hparams("s3://bkt/hp"))
		drain(t, d)
		time.Sleep(1000 * time.Hour)
		sweep(t, d)
		if got := failures(t, bus, ""); len(got) != 0 {
			t.Errorf("published %+v", got[0].Data)
		}
		if _, err := dispatch.ReadJoin(t.Context(), bus, "penguin", "tuning"); !errors.Is(err, events.ErrNotFound) {
			t.Errorf("they have a join: %v", err)
		}
	})
}

// elsewhen is a bus whose clock is unrelated to this machine's.
type elsewhen struct {
	*bustest.Memory
	off time.Duration
}

func (b *elsewhen) Read(ctx context.Context, q events.Query) iter.Seq2[events.Recorded, error] {
	return func(yield func(events.Recorded, error) bool) {
		for r, err := range b.Memory.Read(ctx, q) {
			r.Message.Stored = r.Message.Stored.Add(b.off)
			if !yield(r, err) {
				return
			}
		}
	}
}

func (b *elsewhen) Follow(ctx context.Context, reader string, wait time.Duration) (events.EventDelivery, error) {
	delivery, err := b.Memory.Follow(ctx, reader, wait)
	return elsewhenDelivery{delivery, b.off}, err
}

type elsewhenDelivery struct {
	events.EventDelivery
	off time.Duration
}

func (d elsewhenDelivery) Recorded() events.Recorded {
	r := d.EventDelivery.Recorded()
	r.Message.Stored = r.Message.Stored.Add(d.off)
	return r
}

func (b *elsewhen) KV(ctx context.Context, name string) (events.KV, error) {
	kv, err := b.Memory.KV(ctx, name)
	return elsewhenKV{kv, b.off}, err
}

type elsewhenKV struct {
	events.KV
	off time.Duration
}

func (r elsewhenKV) Get(ctx context.Context, key string) (events.Entry, error) {
	entry, err := r.KV.Get(ctx, key)
	entry.Written = entry.Written.Add(r.off)
	return entry, err
}

func TestTheOffsetOfTheBussClockDoesNotMatter(t *testing.T) {
	t.Parallel()
	const years = 10 * 365 * 24 * time.Hour
	for _, off := range []time.Duration{years, -years} {
		synctest.Test(t, func(t *testing.T) {
			memory, _ := setup(t, expiring)
			bus := &elsewhen{memory, off}
			d, err := dispatch.New(t.Context(), bus, nil)
			if err != nil {
				t.Fatal(err)
			}
			publish(t, bus, "monday", "t", transform())
			drain(t, d)
			for looks, want := range []int{0, 0, 0, 1} {
				sweep(t, d)
				if got := failures(t, bus, "monday"); len(got) != want {
					t.Errorf("a bus that is %s away: look %d finds %d failures, want %d", off, looks, len(got), want)
				}
				time.Sleep(59 * time.Minute)
			}
		})
	}
}

func TestOneDispatcherSweepsAtATime(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		bus, _ := setup(t, expiring)
		counted := &counting{Memory: bus}
		ctx, stop := context.WithCancel(t.Context())
		done := make(chan error, 3)
		for range 3 {
			d, err := dispatch.New(ctx, counted, nil)
			if err != nil {
				t.Fatal(err)
			}
			go func() { done <- d.Run(ctx) }()
			time.Sleep(17 * time.Second)
		}
		time.Sleep(time.Hour)
		stop()
		for range 3 {
			if err := <-done; err != nil {
				t.Error(err)
			}
		}
		if sweeps := counted.sweeps.Load(); sweeps < 50 || sweeps > 85 {
			t.Errorf("%d sweeps in an hour, want about one a minute", sweeps)
		}
	})
}

// counting counts how often all joins are listed.
type counting struct {
	*bustest.Memory
	sweeps atomic.Int32
}

func (c *counting) KV(ctx context.Context, name string) (events.KV, error) {
	kv, err := c.Memory.KV(ctx, name)
	if name != events.KVJoins {
		return kv, err
	}
	return countingKV{kv, c}, err
}

type countingKV struct {
	events.KV
	c *counting
}

func (r countingKV) All(ctx context.Context) iter.Seq2[events.Copy, error] {
	r.c.sweeps.Add(1)
	return r.KV.All(ctx)
}
