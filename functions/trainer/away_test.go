package trainer_test

import (
	"context"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stoker-ml/stoker/events"
	"github.com/stoker-ml/stoker/events/eventstest"
	"github.com/stoker-ml/stoker/functions/trainer"
	"github.com/stoker-ml/stoker/functions/worker"
	"github.com/stoker-ml/stoker/storage"
	"github.com/stoker-ml/stoker/storage/storagetest"
)

// told are the facts of a kind.
func told(t *testing.T, box events.Letterbox, kind events.Kind) (all []events.Fact) {
	t.Helper()
	for recorded, err := range box.Read(t.Context(), events.Query{Kinds: []events.Kind{kind}}) {
		if err != nil {
			t.Fatal(err)
		}
		all = append(all, recorded.Fact)
	}
	return all
}

// A store may be away for longer than any number of deliveries: nothing is given up, and what was saved before is gone on from.
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
		box := eventstest.NewMemory(0)
		j := job(t, "j1", "monday", spec)
		j.Causes = []events.Cause{{Kind: events.KindTransformReady, Source: "/test", ID: "c", Sequence: 1}}
		j.Created = began
		if err := box.Offer(t.Context(), j); err != nil {
			t.Fatal(err)
		}
		train := trainer.New(away, g, trainer.Options{Root: storage.Ref{Bucket: "stoker"}, WorkDir: t.TempDir()})
		ctx, stop := context.WithTimeout(t.Context(), 10*time.Hour)
		defer stop()
		if err := worker.New(box, worker.Options{Functions: []worker.Function{train}}).Run(ctx); err != nil {
			t.Error(err)
		}
		models, failures := told(t, box, events.KindModelTrained), told(t, box, events.KindTrainingFailed)
		if len(models) != 1 || len(failures) > 0 {
			t.Fatalf("%d models, failures %v", len(models), failures)
		}
		for letter, err := range box.Dead(t.Context()) {
			t.Errorf("dead letter %+v, %v", letter, err)
		}
		if attempts := models[0].Data.(*events.ModelTrained).Attempts; attempts < 100 {
			t.Errorf("only %d attempts", attempts)
		}
		if taken := g.all(); len(taken) != 300+210 { // all of it, and from step 90 again
			t.Errorf("%d steps", len(taken))
		}
		for _, key := range b.keys(t, "penguin/") {
			if strings.Contains(key, "checkpoint") {
				t.Errorf("left %s", key)
			}
		}
	})
}
