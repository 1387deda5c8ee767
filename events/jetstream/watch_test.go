package jetstream

import (
	"errors"
	"testing"

	"github.com/nats-io/nats.go/jetstream"

	"github.com/stoker-ml/stoker/events"
)

// A server may lose the consumer behind a watch. That is not a closed bus, which would end
// dispatchers and workers.
func TestAWatchThatEndsIsNoClosedBus(t *testing.T) {
	t.Parallel()
	updates := make(chan jetstream.KeyValueEntry)
	close(updates)
	if _, err := nextEntry(t.Context(), updates); err == nil || errors.Is(err, events.ErrClosed) {
		t.Errorf("got %v, want an error after which the watch may begin again", err)
	}
}
