package bustest_test

import (
	"testing"

	"github.com/stoker-ml/stoker/events/bustest"
)

func TestMemory(t *testing.T) {
	t.Parallel()
	bustest.RunInBubble(t, func(*testing.T) bustest.Bus { return bustest.NewMemory(bustest.Lease) })
}
