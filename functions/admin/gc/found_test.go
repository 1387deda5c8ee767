package gc_test

import (
	"context"
	"errors"
	"slices"
	"testing"
	"time"

	"github.com/stoker-ml/stoker/events"
	"github.com/stoker-ml/stoker/functions/admin/gc"
	"github.com/stoker-ml/stoker/storage"
)

// finding is a store in which a worker finds a model while it is about to be removed. Like a
// trainer, the worker records that in the commit, and announces the model after the collection.
type finding struct {
	storage.Store
	w     world
	found bool
}

func (f *finding) PutIf(ctx context.Context, ref storage.Ref, body []byte, cond storage.Condition) (storage.Object, error) {
	if ref == (storage.Place{Root: trainer, Execution: execution(1)}).Commit() {
		f.find(ctx)
	}
	return f.Store.PutIf(ctx, ref, body, cond)
}

func (f *finding) find(ctx context.Context) {
	c, _, err := storage.Committed(ctx, f.Store, trainer, execution(1))
	if errors.Is(err, storage.ErrIncomplete) {
		return
	}
	if err == nil {
		f.found, err = storage.Found(ctx, f.Store, trainer, c, "finder")
	}
	if err != nil {
		f.w.t.Fatal(err)
	}
}

// A model that was found, at any moment, and announced after the collection, still exists.
func TestAModelThatARunHasFoundStays(t *testing.T) {
	moments := map[string]func(w world) (bus events.Bus, store *finding){
		"before the models are read": func(w world) (events.Bus, *finding) {
			f := &finding{Store: w.store, w: w}
			return &hitting{Bus: w.bus, announce: func() { f.find(w.t.Context()) }, at: 1}, f
		},
		"before the last look at the events": func(w world) (events.Bus, *finding) {
			f := &finding{Store: w.store, w: w}
			return &hitting{Bus: w.bus, announce: func() { f.find(w.t.Context()) }, at: 2}, f
		},
		"right before the model is retired": func(w world) (events.Bus, *finding) { return w.bus, &finding{Store: w.store, w: w} },
	}
	for name, moment := range moments {
		t.Run(name, func(t *testing.T) {
			inBubble(t, func(t *testing.T, w world) {
				one := w.commit(1, "a")
				w.announce("r1", one, storage.Place{})
				w.announce("r2", w.commit(2, "b"), storage.Place{})
				time.Sleep(2 * day)
				bus, store := moment(w)
				opts := gc.Options{Root: root, OlderThan: day, KeepModels: 1}
				for range 2 { // a later collection sees that it is young
					if err := gc.Collect(t.Context(), bus, store, opts, func(gc.Removal) {}); err != nil {
						t.Fatal(err)
					}
				}
				if !store.found || !w.valid(1) {
					t.Errorf("found %v, and the model is whole: %v", store.found, w.valid(1))
				}
				w.announce("r3", one, storage.Place{})
			})
		})
	}
}

func TestAModelThatARunFindsDuringItsRemovalIsGone(t *testing.T) {
	inBubble(t, func(t *testing.T, w world) {
		w.announce("r1", w.commit(1, "a"), storage.Place{})
		w.announce("r2", w.commit(2, "b"), storage.Place{})
		time.Sleep(2 * day)
		c, _, err := storage.Committed(t.Context(), w.store, trainer, execution(1))
		if err != nil {
			t.Fatal(err)
		}
		if got := w.collect(gc.Options{OlderThan: day, KeepModels: 1}); !slices.Equal(got, []string{"model a"}) {
			t.Errorf("removed %q", got)
		}
		if found, err := storage.Found(t.Context(), w.store, trainer, c, "finder"); found || err != nil {
			t.Errorf("found a model that is gone: %v, %v", found, err)
		}
	})
}

func TestAModelThatARunWithALeaseHasFoundStays(t *testing.T) {
	inBubble(t, func(t *testing.T, w world) {
		w.announce("r1", w.commit(1, "a"), storage.Place{})
		w.announce("r2", w.commit(2, "b"), storage.Place{})
		w.lease("finder")
		(&finding{Store: w.store, w: w}).find(t.Context())
		time.Sleep(2 * day) // its worker can't reach the bus
		if got := w.collect(gc.Options{OlderThan: day, KeepModels: 1}); len(got) > 0 || !w.valid(1) {
			t.Errorf("removed %q", got)
		}
	})
}
