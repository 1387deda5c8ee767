package eventstest_test

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stoker-ml/stoker/events"
	"github.com/stoker-ml/stoker/events/eventstest"
)

// staleReads counts the reads of a client that miss what another one wrote before.
type staleReads struct{ gets, afterConflict, afterSync, lists, log int }

func countStale(t *testing.T, staleness eventstest.Staleness) (n staleReads) {
	const rounds = 200
	memory := eventstest.NewMemory(0)
	stale := eventstest.NewStale(memory)
	writer := stale.Client(rand.New(rand.NewPCG(1, 1)), eventstest.OnlyByContract)
	reader := stale.Client(rand.New(rand.NewPCG(2, 2)), staleness)
	open := func(box events.Letterbox) events.Register {
		register, err := box.Register(t.Context(), events.RegisterJoins)
		if err != nil {
			t.Fatal(err)
		}
		return register
	}
	writes, reads := open(writer), open(reader)
	for i := range rounds {
		key := fmt.Sprint("k", i)
		first, err := writes.Create(t.Context(), key, []byte("1"))
		if err != nil {
			t.Fatal(err)
		}
		if got, err := reads.Get(t.Context(), key); err != nil || got.Revision != first {
			n.gets++
		}
		if _, err := reads.Create(t.Context(), key, []byte("mine")); !errors.Is(err, events.ErrConflict) {
			t.Fatalf("got %v, want a conflict", err)
		}
		if got, err := reads.Get(t.Context(), key); err != nil || got.Revision != first {
			n.afterConflict++
		}
		if err := reads.Sync(t.Context()); err != nil {
			t.Fatal(err)
		}
		if got, err := reads.Get(t.Context(), key); err != nil || got.Revision != first {
			n.afterSync++
		}
		listed := 0
		for entry, err := range reads.All(t.Context()) {
			if err == nil && entry.Key == key {
				listed++
			}
		}
		n.lists += 1 - listed
		fact := events.Fact{ID: key, Source: "/test", Pipeline: "penguin", Run: "r", Time: time.Now(), Data: &events.TransformReady{TransformGraph: "s3://bkt/graph"}}
		receipt, err := writer.Publish(t.Context(), fact)
		if err != nil {
			t.Fatal(err)
		}
		var last uint64
		for r, err := range reader.Read(t.Context(), events.Query{}) {
			if err != nil {
				t.Fatal(err)
			}
			last = r.Message.Sequence
		}
		if last != receipt.Sequence {
			n.log++
		}
	}
	return n
}

// TestAStaleBusIsAsStaleAsItsContractAllows: programs that are tested on one must meet old reads where they may, and nowhere else.
func TestAStaleBusIsAsStaleAsItsContractAllows(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		got := countStale(t, eventstest.OnlyByContract)
		if got.gets+got.afterSync+got.log > 0 || got.afterConflict < 50 || got.lists < 20 {
			t.Errorf("by contract: %+v", got)
		}
		got = countStale(t, eventstest.AnyCopy)
		if got.gets < 50 || got.afterConflict < 50 || got.lists < 20 || got.log < 50 {
			t.Errorf("of any copy: %+v", got)
		}
	})
}
