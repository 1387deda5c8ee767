package main

import (
	"strings"
	"testing"

	"github.com/nats-io/nats.go"

	"github.com/stoker-ml/stoker/events"
	"github.com/stoker-ml/stoker/functions/dispatch"
)

// The program that a dispatcher is compared with writes what it writes: as many messages for each
// event, to the same streams.
func TestRawJetStreamWritesWhatADispatcherWrites(t *testing.T) {
	t.Parallel()
	seen, err := observeDispatcher(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	count := func(sent []*nats.Msg) map[string]int {
		counts := map[string]int{}
		for _, m := range sent {
			switch kindOf(m) {
			case ackRequest:
				counts["acknowledgement"]++
			case writeRequest:
				stream, _, _ := strings.Cut(m.Subject, "/")
				if isJob(m) {
					stream = "jobs"
				}
				counts[stream]++
			}
		}
		return counts
	}
	err = withBacklog(t.Context(), false, func(on ownBus) error {
		sent, err := requestsDuring(on, func() error {
			return withRaw(t.Context(), on, 1, events.StreamEvents, dispatch.Reader, func(all []raw) error {
				return writeRuns(t.Context(), all, 1, seen, newTally(backlog))
			})
		})
		if got := count(sent); got["$KV.JOINS.penguin"] != 3*backlog || got["jobs"] != backlog || got["acknowledgement"] != 2*backlog || len(got) != 3 {
			t.Errorf("for %d runs: %v", backlog, got)
		}
		return err
	})
	if err != nil {
		t.Error(err)
	}
	if len(seen.first) != 1 || len(seen.second) != 3 {
		t.Errorf("a dispatcher writes %d and %d messages for a run's events", len(seen.first), len(seen.second))
	}
}
