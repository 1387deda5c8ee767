package stack

import (
	"testing"

	"github.com/stoker-ml/stoker/functions/bridge"
)

// The store may be asked before the bus is open, by an uploader of a stack that was there before: it has to try again.
func TestAMarkerThatCanNotBeToldYetIsRefused(t *testing.T) {
	t.Parallel()
	tell := new(notifier).tell(&bridge.Options{Marker: "READY"})
	if err := tell.Send(t.Context(), "data", nil); err == nil || tell.Suffix != "READY" {
		t.Errorf("got %v, of keys that end in %q", err, tell.Suffix)
	}
	if tell := new(notifier).tell(nil); tell.Send != nil {
		t.Error("tells without a bridge")
	}
}
