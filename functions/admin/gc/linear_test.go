package gc

import (
	"context"
	"fmt"
	"iter"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stoker-ml/stoker/events"
	"github.com/stoker-ml/stoker/events/bustest"
	"github.com/stoker-ml/stoker/storage"
	"github.com/stoker-ml/stoker/storage/storagetest"
)

// many is a bus on which one pipeline has announced many models, and a store that has them. It
// counts requests to the bus.
type many struct {
	*bustest.Memory
	store  *storagetest.Memory
	events []events.Recorded

	reads, queued, buckets int
}

var (
	manyRoot    = storage.Ref{Bucket: "stoker"}
	manyTrainer = manyRoot.Join("penguin", "Trainer")
)

func manyModels(t testing.TB, n int) *many {
	t.Helper()
	m := &many{Memory: bustest.NewMemory(0), store: storagetest.NewMemory()}
	for i := range n {
		place := storage.Place{Root: manyTrainer, Execution: fmt.Sprintf("sha256:%064x", i), Attempt: fmt.Sprint("a", i)}
		for _, ref := range []storage.Ref{place.Manifest(), place.Output("model").Join("saved_model.pb")} {
			if _, err := m.store.Put(t.Context(), ref, strings.NewReader("x"), 1); err != nil {
				t.Fatal(err)
			}
		}
		commit := storage.Commit{Execution: place.Execution, Attempt: place.Attempt}
		if _, _, err := storage.PutCommit(t.Context(), m.store, manyTrainer, commit); err != nil {
			t.Fatal(err)
		}
		m.events = append(m.events, events.Recorded{
			Message: events.Message{Sequence: uint64(i + 1), Stored: time.Now()},
			Event: events.Event{
				Pipeline: "penguin", Run: fmt.Sprint("run", i), Source: events.Source(events.FunctionTrain),
				Data: &events.ModelTrained{Model: events.Model{URI: place.Output("model").String()}},
			},
		})
	}
	return m
}

func (m *many) Read(_ context.Context, q events.Query) iter.Seq2[events.Recorded, error] {
	m.reads++
	return func(yield func(events.Recorded, error) bool) {
		for _, recorded := range m.events[min(max(q.From, 1)-1, uint64(len(m.events))):] {
			if !yield(recorded, nil) {
				return
			}
		}
	}
}

func (m *many) Queued(ctx context.Context, job string) (events.Message, error) {
	m.queued++
	return m.Memory.Queued(ctx, job)
}

func (m *many) KV(ctx context.Context, name string) (events.KV, error) {
	m.buckets++
	return m.Memory.KV(ctx, name)
}

func (m *many) collect(t testing.TB, opts Options) (removed int) {
	t.Helper()
	opts.Root = manyRoot
	if err := Collect(t.Context(), m, m.store, opts, func(Removal) { removed++ }); err != nil {
		t.Fatal(err)
	}
	return removed
}

func TestCollectSendsTheBusNoMoreRequestsForManyModels(t *testing.T) {
	t.Parallel()
	for _, n := range []int{2, 300} {
		m := manyModels(t, n)
		if removed := m.collect(t, Options{KeepModels: 1}); removed != n-1 {
			t.Errorf("%d models: removed %d", n, removed)
		}
		if m.reads != 2 || m.queued != 0 || m.buckets != 3 {
			t.Errorf("%d models: %d reads of the log, %d requests to the queue, %d buckets opened; want 2, 0 and 3", n, m.reads, m.queued, m.buckets)
		}
		m.reads = 0
		if removed := m.collect(t, Options{KeepModels: 1}); removed != 0 || m.reads != 1 {
			t.Errorf("%d models: then %d removed by %d reads of the log; want 0 by 1", n, removed, m.reads)
		}
	}
}

// Of n models the newest are kept. Each event is visited once when it is read, and at most four
// times by the two decisions.
func TestTheWorkForModelsIsLinearInTheirNumber(t *testing.T) {
	t.Parallel()
	for _, keep := range []int{1, 50, 400} {
		m := manyModels(t, 400)
		c := &collector{Options: Options{KeepModels: keep}, store: m.store, work: &work{}, before: time.Now().Add(time.Hour), on: func(Removal) {}}
		var err error
		if c.outcomes, err = readOutcomes(t.Context(), m); err != nil {
			t.Fatal(err)
		}
		executions, err := survey(t.Context(), m.store, manyRoot)
		if err != nil {
			t.Fatal(err)
		}
		if err := c.collectGarbage(t.Context(), executions); err != nil {
			t.Fatal(err)
		}
		if err := c.collectModels(t.Context()); err != nil {
			t.Fatal(err)
		}
		if steps, bound := c.outcomes.steps, 5*len(m.events); len(c.models) != 400-keep || steps > bound || steps < len(m.events) {
			t.Errorf("keeping %d: %d models removed after visiting %d events; want at most %d", keep, len(c.models), steps, bound)
		}
	}
}

// A model that is announced again between the two reads is as new as that event.
func TestRetainCountsWhatCameSince(t *testing.T) {
	t.Parallel()
	m := manyModels(t, 5)
	all := m.events
	m.events = all[:4]
	o, err := readOutcomes(t.Context(), m)
	if err != nil {
		t.Fatal(err)
	}
	again := all[0]
	again.Message.Sequence = 6
	m.events = append(slices.Clone(all), again)
	if err := o.refresh(t.Context()); err != nil {
		t.Fatal(err)
	}
	kept := o.retain(2, nil)
	for i, want := range []bool{false, true, true, true, false} {
		place := storage.Place{Root: manyTrainer, Execution: fmt.Sprintf("sha256:%064x", i)}
		if kept.replaced(place) != want {
			t.Errorf("model %d: replaced is %v, want %v", i, !want, want)
		}
	}
}

// The time of one collection by the number of models of which all except one may be removed.
func BenchmarkCollect(b *testing.B) {
	for _, n := range []int{1_000, 10_000, 100_000} {
		b.Run(fmt.Sprintf("models=%d", n), func(b *testing.B) {
			m := manyModels(b, n)
			for b.Loop() {
				if removed := m.collect(b, Options{KeepModels: 1, DryRun: true}); removed != n-1 {
					b.Fatalf("%d would be removed", removed)
				}
			}
			b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/float64(n), "ns/model")
		})
	}
}
