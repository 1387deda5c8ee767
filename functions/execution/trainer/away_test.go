package trainer_test

import (
	"context"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stoker-ml/stoker/events"
	"github.com/stoker-ml/stoker/events/bustest"
	"github.com/stoker-ml/stoker/functions/execution"
	"github.com/stoker-ml/stoker/functions/execution/trainer"
	"github.com/stoker-ml/stoker/functions/worker"
	"github.com/stoker-ml/stoker/storage"
	"github.com/stoker-ml/stoker/storage/storagetest"
)

// published returns the events of a kind.
func published(t *testing.T, bus events.Bus, kind events.Kind) (all []events.Event) {
	t.Helper()
	for recorded, err := range bus.Read(t.Context(), events.Query{Kinds: []events.Kind{kind}}) {
		if err != nil {
			t.Fatal(err)
		}
		all = append(all, recorded.Event)
	}
	return all
}

// offered returns a bus with one job on its queue, j1.
func offered(t *testing.T) *bustest.Memory {
	t.Helper()
	bus := bustest.NewMemory(0)
	j := job(t, "j1", "monday", spec)
	j.Causes = []events.Cause{{Kind: events.KindTransformReady, Source: "/test", ID: "c", Sequence: 1}}
	j.Created = time.Now()
	if err := bus.Enqueue(t.Context(), j); err != nil {
		t.Fatal(err)
	}
	return bus
}

// work runs a worker for a while.
func work(t *testing.T, bus events.Bus, store storage.Store, g execution.Runner, while time.Duration) {
	t.Helper()
	ctx, stop := context.WithTimeout(t.Context(), while)
	defer stop()
	train := trainer.New(execution.New(store, g, execution.Options{Root: storage.Ref{Bucket: "stoker"}, WorkDir: t.TempDir()}), trainer.Options{})
	if err := worker.New(bus, worker.Options{Functions: []worker.Function{train}}).Run(ctx); err != nil {
		t.Error(err)
	}
}

// slow takes a second for each step.
func slow(context.Context, int) error { time.Sleep(time.Second); return nil }

func TestAWorkerThatStopsHandsItsJobOnWithAllItsSteps(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		b, bus, g := setup(t, nil), offered(t), &stepper{steps: 300, every: 30, after: slow}
		for range 4 { // workers, one after another
			work(t, bus, b.store, g, 100*time.Second)
		}
		models := published(t, bus, events.KindModelTrained)
		if taken := g.all(); len(models) != 1 || len(taken) != 300 {
			t.Errorf("%d models after %d steps", len(models), len(taken))
		}
	})
}

func TestACancelledRunIsAnnouncedWithoutADeadLetter(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		b, bus, g := setup(t, nil), offered(t), &stepper{steps: 300, every: 30}
		g.after = func(ctx context.Context, step int) error {
			if step == 100 {
				if err := bus.Cancel(ctx, "j1"); err != nil {
					t.Error(err)
				}
			}
			return slow(ctx, step)
		}
		work(t, bus, b.store, g, 20*time.Minute)
		failures := published(t, bus, events.KindTrainingFailed)
		if len(failures) != 1 || len(published(t, bus, events.KindModelTrained)) > 0 {
			t.Fatalf("published %+v", failures)
		}
		failed := failures[0].Data.(*events.TrainingFailed)
		if failed.Reason != events.FailureCancelled {
			t.Errorf("published %+v", failed)
		}
		for deadLetter, err := range bus.DeadLetters(t.Context()) {
			t.Errorf("dead letter %+v, %v", deadLetter, err)
		}
		if taken := g.all(); len(taken) > 101 {
			t.Errorf("%d steps", len(taken))
		}
		if c := commitOf(t, b, failed.Execution); !c.Cancelled || len(visible(t, b)) > 0 {
			t.Errorf("commit %+v, left %q", c, visible(t, b))
		}
	})
}

// A store may be unavailable for longer than any number of deliveries: the job isn't given up, and
// resumes from the checkpoints saved before.
func TestAStoreThatIsAwayForHoursCostsNoModel(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		b, began := setup(t, nil), time.Now()
		away := storagetest.Faulty(b.store, func(storagetest.Call) storagetest.Fault {
			if since := time.Since(began); since > 100*time.Second && since < 9*time.Hour {
				return storagetest.Fault{Refuse: storage.ErrUnavailable}
			}
			return storagetest.Fault{}
		})
		g := &stepper{steps: 300, every: 30, after: func(ctx context.Context, _ int) error {
			time.Sleep(time.Second)
			return nil
		}}
		bus := offered(t)
		work(t, bus, away, g, 10*time.Hour)
		models, failures := published(t, bus, events.KindModelTrained), published(t, bus, events.KindTrainingFailed)
		if len(models) != 1 || len(failures) > 0 {
			t.Fatalf("%d models, failures %v", len(models), failures)
		}
		for deadLetter, err := range bus.DeadLetters(t.Context()) {
			t.Errorf("dead letter %+v, %v", deadLetter, err)
		}
		if attempts := models[0].Data.(*events.ModelTrained).Attempts; attempts < 100 {
			t.Errorf("only %d attempts", attempts)
		}
		if taken := g.all(); len(taken) != 300+210 { // all of it, and then from step 90 again
			t.Errorf("%d steps", len(taken))
		}
		for _, key := range b.keys(t, "penguin/") {
			if strings.Contains(key, "checkpoint") {
				t.Errorf("left %s", key)
			}
		}
	})
}
