package stack

import (
	"testing"

	"github.com/stoker-ml/stoker/functions/integrate/bridge"
)

// A client of an earlier stack may upload before the bus is open: it has to try again.
func TestAMarkerIsRefusedUntilTheBusIsOpen(t *testing.T) {
	t.Parallel()
	sent := new(notifier).notifications(&bridge.Options{Marker: "READY"})
	if err := sent.Send(t.Context(), "data", nil); err == nil || sent.Suffix != "READY" {
		t.Errorf("got %v, of keys that end in %q", err, sent.Suffix)
	}
	if sent := new(notifier).notifications(nil); sent.Send != nil {
		t.Error("sends notifications without a bridge")
	}
}
