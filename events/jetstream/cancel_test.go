package jetstream_test

import (
	"context"
	"encoding/json"
	"errors"
	"testing"
	"time"

	"github.com/stoker-ml/stoker/events"
	"github.com/stoker-ml/stoker/events/jetstream"
)

// The lease is so long that there is no heartbeat while the test waits.
func TestAWorkerHearsThatItsJobIsCancelledWithoutWaitingForAHeartbeat(t *testing.T) {
	t.Parallel()
	server := startBus(t)
	opts := jetstream.Options{Create: true, Lease: 5 * time.Minute}
	worker, user := connectAs(t, server, opts), connectAs(t, server, opts)
	offer(t, worker)
	claim := take(t, worker, 2*time.Minute)
	err := claim.KeepAlive(t.Context(), func(ctx context.Context) error {
		if err := user.Cancel(t.Context(), "job-1"); err != nil {
			return err
		}
		select {
		case <-ctx.Done():
			return context.Cause(ctx)
		case <-time.After(8 * time.Minute):
			return errors.New("not cancelled")
		}
	})
	if !errors.Is(err, events.ErrCancelled) {
		t.Errorf("got %v, want %v at once", err, events.ErrCancelled)
	}
	if err := claim.Ack(t.Context()); err != nil {
		t.Error(err)
	}
}

// A worker's own write must not count as news: otherwise each heartbeat would cause the next. The
// lease is long enough for a busy machine, and the count is compared with the elapsed time.
func TestAHeartBeatsAtItsOwnPace(t *testing.T) {
	t.Parallel()
	const lease = 15 * time.Second
	bus := connectAs(t, startBus(t), jetstream.Options{Create: true, Lease: lease})
	offer(t, bus)
	began := time.Now()
	claim := take(t, bus, 2*time.Minute)
	err := claim.KeepAlive(t.Context(), func(ctx context.Context) error {
		for leaseOf(t, bus).Heartbeats == 0 && ctx.Err() == nil {
			time.Sleep(lease / 100)
		}
		time.Sleep(lease / 30) // the first heartbeat's echo would have caused more by now
		most := 1 + uint64(time.Since(began)/(lease/3))
		if beats := leaseOf(t, bus).Heartbeats; beats > most {
			t.Errorf("%d heartbeats after %s, want at most %d: 3 in a lease of %s", beats, time.Since(began), most, lease)
		}
		return context.Cause(ctx)
	})
	if err != nil {
		t.Fatal(err)
	}
}

func leaseOf(t *testing.T, bus events.Bus) events.Lease {
	t.Helper()
	kv, err := bus.KV(t.Context(), events.KVLeases)
	if err != nil {
		t.Fatal(err)
	}
	entry, err := kv.Get(t.Context(), "job-1")
	if err != nil {
		t.Fatal(err)
	}
	var lease events.Lease
	if err := json.Unmarshal(entry.Value, &lease); err != nil {
		t.Fatal(err)
	}
	return lease
}
