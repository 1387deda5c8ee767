package access_test

import (
	"errors"
	"testing"
	"time"

	"github.com/stoker-ml/stoker/events"
	"github.com/stoker-ml/stoker/functions/admin/access"
	"github.com/stoker-ml/stoker/functions/integrate/bridge"
)

// TestABridgeFindsOrMakesItsPlace: setting up the streams makes no consumer for a bridge.
func TestABridgeFindsOrMakesItsPlace(t *testing.T) {
	t.Parallel()
	server := startTenants(t)
	server.as(t, "acme", access.Operator) // makes the streams
	for range 2 {
		if _, err := server.as(t, "acme", access.Bridge).FollowBuckets(t.Context(), bridge.Reader, time.Second); !errors.Is(err, events.ErrEmpty) {
			t.Errorf("got %v, want that no notice waits", err)
		}
	}
}
