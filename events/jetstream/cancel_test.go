package jetstream_test

import (
	"context"
	"encoding/json"
	"errors"
	"testing"
	"time"

	"github.com/stoker-ml/stoker/events"
	"github.com/stoker-ml/stoker/events/eventstest"
	"github.com/stoker-ml/stoker/events/jetstream"
)

// The lease is so long that no heartbeat comes while the test waits.
func TestAWorkerHearsThatItsJobIsCancelledWithoutWaitingForAHeartbeat(t *testing.T) {
	t.Parallel()
	server := startBus(t)
	opts := jetstream.Options{Create: true, Lease: 5 * time.Minute}
	worker, user := connectAs(t, server, opts), connectAs(t, server, opts)
	offer(t, worker)
	claim := take(t, worker, 2*time.Minute)
	err := claim.Hold(t.Context(), func(ctx context.Context) error {
		if err := user.Cancel(t.Context(), "job-1"); err != nil {
			return err
		}
		select {
		case <-ctx.Done():
			return context.Cause(ctx)
		case <-time.After(2 * time.Minute):
			return errors.New("not told")
		}
	})
	if !errors.Is(err, events.ErrCancelled) {
		t.Errorf("got %v, want %v at once", err, events.ErrCancelled)
	}
	if err := claim.Done(t.Context()); err != nil {
		t.Error(err)
	}
}

// What a worker writes itself is no news to it: else each heartbeat would lead to the next.
func TestAHeartBeatsAtItsOwnPace(t *testing.T) {
	t.Parallel()
	box := connect(t, startBus(t), jetstream.Options{Create: true})
	offer(t, box)
	claim := take(t, box, 2*time.Minute)
	err := claim.Hold(t.Context(), func(ctx context.Context) error {
		const leases = 2
		time.Sleep(leases * eventstest.Lease)
		if beats := leaseOf(t, box).Beats; beats == 0 || beats > 3*leases {
			t.Errorf("%d heartbeats in %d leases, want 3 in each", beats, leases)
		}
		return context.Cause(ctx)
	})
	if err != nil {
		t.Fatal(err)
	}
}

func leaseOf(t *testing.T, box events.Letterbox) events.Lease {
	t.Helper()
	register, err := box.Register(t.Context(), events.RegisterLeases)
	if err != nil {
		t.Fatal(err)
	}
	entry, err := register.Get(t.Context(), "job-1")
	if err != nil {
		t.Fatal(err)
	}
	var lease events.Lease
	if err := json.Unmarshal(entry.Value, &lease); err != nil {
		t.Fatal(err)
	}
	return lease
}
