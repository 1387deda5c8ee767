package gc_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stoker-ml/stoker/events"
	"github.com/stoker-ml/stoker/events/bustest"
	"github.com/stoker-ml/stoker/functions/admin/gc"
	"github.com/stoker-ml/stoker/storage"
	"github.com/stoker-ml/stoker/storage/storagetest"
)

var (
	root    = storage.Ref{Bucket: "stoker", Key: "all"}
	trainer = root.Join("penguin", "Trainer")
)

// world is a store and a bus that a test has filled. It runs in a synctest bubble, whose clock is
// the store's too.
type world struct {
	t     *testing.T
	store *storagetest.Memory
	bus   *bustest.Memory
	model string // directory of a small model
	saves *int   // checkpoints so far
}

func setup(t *testing.T) world {
	t.Helper()
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "saved_model.pb"), []byte("graph"), 0o600); err != nil {
		t.Fatal(err)
	}
	return world{t: t, store: storagetest.NewMemory(), bus: bustest.NewMemory(0), model: dir, saves: new(int)}
}

func execution(n int) string { return fmt.Sprintf("sha256:%064x", n) }

// attempt writes what one try at an execution leaves before its commit, and returns the place.
func (w world) attempt(n int, attempt string) storage.Place {
	w.t.Helper()
	place := storage.Place{Root: trainer, Execution: execution(n), Attempt: attempt}
	w.put(place.Log(), "a line of log")
	_, err := storage.Publish(w.t.Context(), w.store, storage.Publication{
		Root: trainer, Execution: place.Execution, Attempt: attempt,
		Outputs: map[string]storage.Source{"model": {Type: "Model", Dir: w.model}},
	})
	if err != nil {
		w.t.Fatal(err)
	}
	return place
}

// commit commits an attempt.
func (w world) commit(n int, attempt string) storage.Place {
	w.t.Helper()
	place := w.attempt(n, attempt)
	c := storage.Commit{Execution: place.Execution, Attempt: attempt, Time: time.Now()}
	if _, won, err := storage.PutCommit(w.t.Context(), w.store, trainer, c); err != nil || !won {
		w.t.Fatal(won, err)
	}
	return place
}

// checkpoint saves a checkpoint of an attempt; each is one step further than the last.
func (w world) checkpoint(n int, attempt string) {
	w.t.Helper()
	*w.saves++
	place := storage.Place{Root: trainer, Execution: execution(n), Attempt: attempt}
	if _, err := storage.OpenCheckpoints(w.store, place, "job", *w.saves).Save(w.t.Context(), w.model, *w.saves); err != nil {
		w.t.Fatal(err)
	}
}

// announce publishes the event of a committed attempt; base may be the zero Place.
func (w world) announce(run string, of, base storage.Place) {
	w.t.Helper()
	data := &events.ModelTrained{
		Model:     events.Model{URI: of.Output("model").String(), Digest: execution(1), Formats: []string{"Format-Serving"}},
		Execution: of.Execution, Inputs: []events.Artifact{}, Module: "builtin:dnn@1",
	}
	if base.Attempt != "" {
		data.BaseModel = base.Output("model").String()
	}
	event := events.Event{ID: run, Source: "/stoker/train", Pipeline: "penguin", Run: run, Data: data}
	if _, err := w.bus.Publish(w.t.Context(), event); err != nil {
		w.t.Fatal(err)
	}
}

// lease writes a lease of an attempt for a job that is on the queue.
func (w world) lease(attempt string) { w.t.Helper(); w.queued(events.FunctionTrain, attempt) }

// queued is lease for a job of any function.
func (w world) queued(function events.Function, attempt string) {
	w.t.Helper()
	job := events.Job{
		ID: "job-of-" + attempt, Function: function, Class: "cpu", Pipeline: "penguin", Revision: 1, Spec: []byte("{}"), Run: attempt,
		Causes: []events.Cause{{Kind: events.KindTransformReady, Source: "/up", ID: attempt, Sequence: 1}},
	}
	if err := w.bus.Enqueue(w.t.Context(), job); err != nil {
		w.t.Fatal(err)
	}
	w.leaseAlone(attempt)
}

// leaseAlone is a lease whose job has left the queue.
func (w world) leaseAlone(attempt string) {
	w.t.Helper()
	leases, err := w.bus.KV(w.t.Context(), events.KVLeases)
	if err != nil {
		w.t.Fatal(err)
	}
	value, _ := json.Marshal(events.Lease{Holder: attempt, Number: 1})
	if _, err := leases.Create(w.t.Context(), "job-of-"+attempt, value); err != nil {
		w.t.Fatal(err)
	}
}

func (w world) put(ref storage.Ref, text string) {
	w.t.Helper()
	if _, err := w.store.Put(w.t.Context(), ref, strings.NewReader(text), int64(len(text))); err != nil {
		w.t.Fatal(err)
	}
}

// objects returns all objects, with their sizes.
func (w world) objects() map[string]int64 {
	w.t.Helper()
	all := map[string]int64{}
	for o, err := range w.store.List(w.t.Context(), storage.Ref{Bucket: root.Bucket}) {
		if err != nil {
			w.t.Fatal(err)
		}
		all[o.Ref.Key] = o.Size
	}
	return all
}

// collect runs gc and returns "what attempt" of each removal.
func (w world) collect(opts gc.Options) []string {
	w.t.Helper()
	opts.Root = root
	var removed []string
	err := gc.Collect(w.t.Context(), w.bus, w.store, opts, func(r gc.Removal) {
		removed = append(removed, strings.TrimSpace(r.What+" "+r.Attempt))
	})
	if err != nil {
		w.t.Fatal(err)
	}
	return removed
}

func (w world) valid(n int) bool {
	w.t.Helper()
	_, _, err := storage.Committed(w.t.Context(), w.store, trainer, execution(n))
	if err != nil && !errors.Is(err, storage.ErrIncomplete) && !errors.Is(err, storage.ErrNotFound) {
		w.t.Fatal(err)
	}
	return err == nil
}

// inBubble runs a test on a clock of its own.
func inBubble(t *testing.T, test func(t *testing.T, w world)) {
	t.Helper()
	t.Parallel()
	synctest.Test(t, func(t *testing.T) { test(t, setup(t)) })
}
