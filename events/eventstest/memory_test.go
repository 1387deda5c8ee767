package eventstest_test

import (
	"testing"

	"github.com/stoker-ml/stoker/events/eventstest"
)

func TestMemory(t *testing.T) {
	t.Parallel()
	eventstest.RunInBubble(t, func(*testing.T) eventstest.Box { return eventstest.NewMemory(eventstest.Lease) })
}
