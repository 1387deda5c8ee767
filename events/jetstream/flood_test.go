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

// A faulty upstream publishes the same few events ten thousand times, from eight machines at once:
// each is stored once, one publisher gets the first receipt, and all get its sequence.
func TestOfTenThousandIdenticalEventsOneIsStored(t *testing.T) {
	t.Parallel()
	const clients, distinct, times, atOnce = 8, 2, 625, 4 // 10,000 in total
	server := startBus(t)
	bus := connect(t, server, jetstream.Options{Create: true})
	var published, firsts [distinct]atomic.Int64
	var at [distinct]atomic.Uint64
	publish := func(client *jetstream.Bus, n int) error {
		event := plainEvent()
		event.ID = fmt.Sprintf("gen-%d", n)
		receipt, err := client.Publish(t.Context(), event)
		if err != nil {
			return err
		}
		published[n].Add(1)
		if !receipt.Duplicate {
			firsts[n].Add(1)
		}
		if before := at[n].Swap(receipt.Sequence); before != 0 && before != receipt.Sequence {
			return fmt.Errorf("event %d is at %d and at %d", n, before, receipt.Sequence)
		}
		return nil
	}
	var group sync.WaitGroup
	for range clients {
		client := connect(t, server, jetstream.Options{})
		var next atomic.Int64
		for range atOnce {
			group.Go(func() {
				for i := next.Add(1); i <= distinct*times; i = next.Add(1) {
					if err := publish(client, int(i)%distinct); err != nil {
						t.Error(err)
						return
					}
				}
			})
		}
	}
	group.Wait()
	for n := range distinct {
		if published[n].Load() != clients*times || firsts[n].Load() != 1 {
			t.Errorf("event %d: published %d times, %d times the first", n, published[n].Load(), firsts[n].Load())
		}
	}
	stored := 0
	for recorded, err := range bus.Read(t.Context(), events.Query{}) {
		if err = errors.Join(err, recorded.Err); err != nil {
			t.Fatal(err)
		}
		stored++
	}
	if stored != distinct {
		t.Errorf("%d events are stored, want %d", stored, distinct)
	}
}
