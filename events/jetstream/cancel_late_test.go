package jetstream

import (
	"errors"
	"testing"

	"github.com/nats-io/nats.go/jetstream"

	"github.com/stoker-ml/stoker/local/bus"
)

// The job was on the queue when Cancel looked, and is done, its lease removed, when Cancel writes.
func TestACancellingThatComesTooLateLeavesNothing(t *testing.T) {
	t.Parallel()
	server, err := bus.Start(t.Context(), bus.Options{Dir: t.TempDir()})
	if err != nil {
		t.Fatal(err)
	}
	defer server.Close()
	box, err := Connect(t.Context(), server.URL(), Options{Create: true})
	if err != nil {
		t.Fatal(err)
	}
	defer box.Close()
	if err := box.cancel(t.Context(), "job-1", "job-1", 17); err != nil {
		t.Fatal(err)
	}
	if entry, err := box.leases.Get(t.Context(), "job-1"); !errors.Is(err, jetstream.ErrKeyNotFound) {
		t.Errorf("left %v, %v", entry, err)
	}
}
