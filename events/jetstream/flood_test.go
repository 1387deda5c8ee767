package jetstream_test

import (
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/stoker-ml/stoker/events"
	"github.com/stoker-ml/stoker/events/jetstream"
)

// An upstream gone mad tells the same few facts ten thousand times, from eight machines at once: each is stored once, one publisher is
// told that it was first, and all are told where it is.
func TestOfTenThousandIdenticalFactsOneIsStored(t *testing.T) {
	t.Parallel()
	const clients, facts, times, atOnce = 8, 2, 625, 4 // in all 10,000
	server := startBus(t)
	box := connect(t, server, jetstream.Options{Create: true})
	var published, firsts [facts]atomic.Int64
	var at [facts]atomic.Uint64
	publish := func(client *jetstream.Letterbox, n int) error {
		fact := plainFact()
		fact.ID = fmt.Sprintf("gen-%d", n)
		receipt, err := client.Publish(t.Context(), fact)
		if err != nil {
			return err
		}
		published[n].Add(1)
		if !receipt.Duplicate {
			firsts[n].Add(1)
		}
		if before := at[n].Swap(receipt.Sequence); before != 0 && before != receipt.Sequence {
			return fmt.Errorf("fact %d is at %d and at %d", n, before, receipt.Sequence)
		}
		return nil
	}
	var group sync.WaitGroup
	for range clients {
		client := connect(t, server, jetstream.Options{})
		var next atomic.Int64
		for range atOnce {
			group.Go(func() {
				for i := next.Add(1); i <= facts*times; i = next.Add(1) {
					if err := publish(client, int(i)%facts); err != nil {
						t.Error(err)
						return
					}
				}
			})
		}
	}
	group.Wait()
	for n := range facts {
		if published[n].Load() != clients*times || firsts[n].Load() != 1 {
			t.Errorf("fact %d: published %d times, %d times the first", n, published[n].Load(), firsts[n].Load())
		}
	}
	stored := 0
	for recorded, err := range box.Read(t.Context(), events.Query{}) {
		if err = errors.Join(err, recorded.Err); err != nil {
			t.Fatal(err)
		}
		stored++
	}
	if stored != facts {
		t.Errorf("%d facts are stored, want %d", stored, facts)
	}
}
