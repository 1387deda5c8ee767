package cluster

import (
	"errors"
	"testing"

	"github.com/stoker-ml/stoker/events"
	"github.com/stoker-ml/stoker/functions/dispatch"
)

// TestALeaderThatHasLostTheOthersDecidesNothing: it answers reads from its copy for some seconds,
// and the two others may have elected a new leader and acknowledged a pipeline meanwhile. An event
// of a pipeline that its copy lacks is not refused.
func TestALeaderThatHasLostTheOthersDecidesNothing(t *testing.T) {
	t.Parallel()
	c := startLagging(t)
	d, err := dispatch.New(t.Context(), c.leader, nil)
	must(t, err)
	pipelines, err := c.leader.KV(t.Context(), events.KVPipelines)
	must(t, err)
	unknown := events.Recorded{Event: event("nobody", "monday"), Message: events.Message{Stream: events.StreamEvents, Sequence: 1}}
	if _, refused := events.AsKind(d.Handle(t.Context(), unknown), events.FailureInput); !refused {
		t.Fatal("an event of a pipeline that nobody applied is not refused by a whole cluster")
	}
	c.Isolate(0, true)
	err = d.Handle(t.Context(), unknown)
	if _, refused := events.AsKind(err, events.FailureInput); refused || err == nil {
		t.Errorf("the event is refused by a server alone: %v", err)
	}
	if err := pipelines.Sync(t.Context()); !errors.Is(err, events.ErrUnavailable) {
		t.Errorf("the KV bucket is synced by a server alone: %v", err)
	}
}
