package jetstream

import (
	"errors"
	"testing"

	"github.com/nats-io/nats.go/jetstream"

	"github.com/stoker-ml/stoker/local/natsserver"
)

// The job is on the queue when Cancel reads, and is done, its lease removed, when Cancel writes.
func TestACancellingThatComesTooLateLeavesNothing(t *testing.T) {
	t.Parallel()
	server, err := natsserver.Start(t.Context(), natsserver.Options{Dir: t.TempDir()})
	if err != nil {
		t.Fatal(err)
	}
	defer server.Close()
	bus, err := Connect(t.Context(), server.URL(), Options{Create: true})
	if err != nil {
		t.Fatal(err)
	}
	defer bus.Close()
	if err := bus.cancel(t.Context(), "job-1", "job-1", 17); err != nil {
		t.Fatal(err)
	}
	if entry, err := bus.leases.Get(t.Context(), "job-1"); !errors.Is(err, jetstream.ErrKeyNotFound) {
		t.Errorf("left %v, %v", entry, err)
	}
}
