package main

import (
	"strings"
	"testing"
	"testing/synctest"
	"time"
)

func TestThePartsThatMeasureFunctionsGiveAllTheirFigures(t *testing.T) {
	t.Parallel()
	b := thisBinary(t)
	b.rounds = 1
	for name, names := range map[string]string{
		"dispatch": "dispatched-events-by-1-p50 dispatched-events-by-1-to-one-at-a-time-p50 " +
			"dispatched-events-by-4-p50 dispatched-events-by-4-to-one-at-a-time-p50 event-to-job-p50 event-to-job-p99 " +
			"dispatched-events-by-1-synced-p50 dispatched-events-by-1-synced-to-one-at-a-time-p50 " +
			"dispatched-events-by-4-synced-p50 dispatched-events-by-4-synced-to-one-at-a-time-p50 event-to-job-synced-p50 event-to-job-synced-p99",
		"trace":   "tracing-adds-to-a-job-p50 tracing-allocates-a-job-p50 tracing-cpu-a-job-sent-and-received-p50",
		"noop":    "noop-jobs-p50 job-to-user-code-p50 job-to-user-code-p99",
		"recover": "worker-killed-to-job-taken-lease-6s-p50 worker-killed-to-job-taken-lease-6s-longest of-it-beyond-the-lease-p50",
	} {
		t.Run(name, func(t *testing.T) {
			if testing.Short() && name == "recover" {
				t.Skip("waits for a lease to run out")
			}
			figures, err := b.measure(t.Context(), name)
			if err != nil {
				t.Fatal(err)
			}
			var got []string
			for _, f := range figures {
				got = append(got, f.Name)
				rawPeer := strings.HasPrefix(f.Name, "dispatched-") || f.Name == "noop-jobs-p50"
				if f.Rounds != 1 || (f.Peer != nil) != rawPeer || strings.HasPrefix(f.PeerName, rawName) != rawPeer || f.Ours <= 0 && !strings.HasPrefix(f.Name, "of-it") && f.Unit != microseconds {
					t.Errorf("%+v", f)
				}
			}
			if strings.Join(got, " ") != names {
				t.Errorf("figures are %q", got)
			}
		})
	}
}

func TestATallyCountsEachNameOnce(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		count := &tally{want: 2, seen: map[string]bool{}, all: make(chan struct{})}
		count.note("a")
		count.note("a")
		select {
		case <-count.all:
			t.Fatal("one name is two")
		default:
		}
		count.note("b")
		<-count.all
		last := count.last
		time.Sleep(time.Millisecond)
		if count.note("c"); count.last != last {
			t.Error("it goes on counting")
		}
	})
}
