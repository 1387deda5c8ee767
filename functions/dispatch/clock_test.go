package dispatch_test

import (
	"context"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stoker-ml/stoker/events"
	"github.com/stoker-ml/stoker/functions/dispatch"
)

// If a bus's clock is set back, or the bus moves to a server with another clock, dispatchers
// continue to sweep before the old time is reached again.
func TestSweepsGoOnWhenTheBussClockIsSetBack(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		bus, _ := setup(t, alone)
		back, counted := new(atomic.Bool), &counting{Memory: bus}
		d, err := dispatch.New(t.Context(), &setBack{Bus: counted, back: back}, nil)
		if err != nil {
			t.Fatal(err)
		}
		ctx, stop := context.WithCancel(t.Context())
		var running sync.WaitGroup
		running.Go(func() { _ = d.Run(ctx) })
		time.Sleep(3 * time.Minute)
		back.Store(true)
		synctest.Wait()
		before := counted.sweeps.Load()
		time.Sleep(5 * time.Minute)
		stop()
		running.Wait()
		if more := counted.sweeps.Load() - before; more < 3 {
			t.Errorf("%d sweeps in five minutes after the clock was set back", more)
		}
	})
}

// setBack is a bus whose clock is set back by a day at some moment.
type setBack struct {
	events.Bus
	back *atomic.Bool
}

func (b *setBack) KV(ctx context.Context, name string) (events.KV, error) {
	kv, err := b.Bus.KV(ctx, name)
	return setBackKV{kv, b.back, map[string]time.Time{}}, err
}

// setBackKV is used by one goroutine at a time: only sweeps read the clock.
type setBackKV struct {
	events.KV
	back    *atomic.Bool
	written map[string]time.Time
}

func (r setBackKV) stamp(key string) {
	r.written[key] = time.Now()
	if r.back.Load() {
		r.written[key] = time.Now().Add(-24 * time.Hour)
	}
}

func (r setBackKV) Create(ctx context.Context, key string, value []byte) (uint64, error) {
	r.stamp(key)
	return r.KV.Create(ctx, key, value)
}

func (r setBackKV) Update(ctx context.Context, key string, value []byte, at uint64) (uint64, error) {
	r.stamp(key)
	return r.KV.Update(ctx, key, value, at)
}

func (r setBackKV) Get(ctx context.Context, key string) (events.Entry, error) {
	entry, err := r.KV.Get(ctx, key)
	entry.Written = r.written[key]
	return entry, err
}
