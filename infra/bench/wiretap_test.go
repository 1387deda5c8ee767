package main

import (
	"context"
	"strings"
	"testing"

	"github.com/stoker-ml/stoker/events"
	"github.com/stoker-ml/stoker/functions/dispatch"
)

func TestRequestsAreReadFromWhatAClientSends(t *testing.T) {
	t.Parallel()
	for line, want := range map[string]struct {
		subject      string
		answer       bool
		header, size int
	}{
		"PUB progress.a 5\r\n":                  {"progress.a", false, 0, 7},
		"PUB events.a _INBOX.x 0\r\n":           {"events.a", true, 0, 2},
		"HPUB $KV.JOINS.a/b _INBOX.x 12 15\r\n": {"$KV.JOINS.a/b", true, 12, 17},
		"HPUB progress.a 12 15\r\n":             {"progress.a", false, 12, 17},
		"SUB _INBOX.x.* 1\r\n":                  {},
		"PING\r\n":                              {},
		"CONNECT {\"verbose\":false}\r\n":       {},
	} {
		got, size, err := parsePublish(line)
		switch {
		case err != nil:
			t.Errorf("%q: %v", line, err)
		case (got != nil) != (want.subject != ""):
			t.Errorf("%q is a request: %t", line, got != nil)
		case got != nil && (got.subject != want.subject || got.answer != want.answer || got.header != want.header || size != want.size):
			t.Errorf("%q: %+v, %d bytes", line, got, size)
		}
	}
	for _, line := range []string{"PUB a\r\n", "PUB a b c 3\r\n", "PUB a x\r\n", "HPUB a 3\r\n", "HPUB a b x 3\r\n"} {
		if _, _, err := parsePublish(line); err == nil {
			t.Errorf("%q is taken", line)
		}
	}
}

// The program that a dispatcher is compared with writes what it writes: as many messages for each
// event, to the same streams.
func TestRawJetStreamWritesWhatADispatcherWrites(t *testing.T) {
	t.Parallel()
	seen, err := seeDispatched(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	count := func(sent [][]request) map[string]int {
		counts := map[string]int{}
		for _, connection := range sent {
			for _, r := range connection {
				switch r.kind() {
				case ackRequest:
					counts["acknowledgement"]++
				case writeRequest:
					stream, _, _ := strings.Cut(r.subject, "/")
					if strings.HasPrefix(stream, "jobs.") {
						stream = "jobs"
					}
					counts[stream]++
				}
			}
		}
		return counts
	}
	err = withBacklog(t.Context(), false, func(ctx context.Context, on ownBus) error {
		sent, err := withWiretap(on, func(tapped ownBus) error {
			return withRaw(ctx, tapped, 1, events.StreamEvents, dispatch.Reader, func(ctx context.Context, all []raw) error {
				return writeRuns(ctx, all, 1, seen, newTally(backlog))
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
