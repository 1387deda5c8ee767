package jetstream_test

import (
	"bytes"
	"context"
	"errors"
	"testing"
	"time"

	"github.com/stoker-ml/stoker/events"
	"github.com/stoker-ml/stoker/events/eventstest"
	"github.com/stoker-ml/stoker/events/jetstream"
)

// A newer `stoker cancel` may say more than that. The worker that has the lease goes on with both.
func TestWhatANewerVersionSaysInALeaseThatIsHeldStays(t *testing.T) {
	t.Parallel()
	box := connect(t, startBus(t), jetstream.Options{Create: true, Lease: eventstest.Lease})
	offer(t, box)
	claim := take(t, box, 2*time.Minute)
	leases, err := box.Register(t.Context(), events.RegisterLeases)
	if err != nil {
		t.Fatal(err)
	}
	err = claim.Hold(t.Context(), func(ctx context.Context) error {
		said := saidByNewer(t, leases)
		for entry, err := range leases.Watch(ctx) {
			if err != nil || entry.Revision > said { // a heartbeat behind it
				return errors.Join(err, keeps(events.Entry(entry)))
			}
		}
		return ctx.Err()
	})
	if err != nil {
		t.Fatal(err)
	}
	if err := claim.Done(t.Context()); err != nil {
		t.Error(err)
	}
}

var added = []byte(`"reason":"budget"`)

// saidByNewer tries until no heartbeat is in its way.
func saidByNewer(t *testing.T, leases events.Register) (revision uint64) {
	t.Helper()
	for {
		entry, err := leases.Get(t.Context(), "job-1")
		if err != nil {
			t.Fatal(err)
		}
		value := append([]byte("{"+string(added)+","), entry.Value[1:]...)
		if revision, err = leases.Update(t.Context(), entry.Key, value, entry.Revision); err == nil {
			return revision
		} else if !errors.Is(err, events.ErrConflict) {
			t.Fatal(err)
		}
	}
}

func keeps(entry events.Entry) error {
	if bytes.Contains(entry.Value, added) {
		return nil
	}
	return errors.New("the lease is now " + string(entry.Value))
}
