package console

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"runtime"
	"slices"
	"testing"
	"time"

	"github.com/stoker-ml/stoker/events"
	"github.com/stoker-ml/stoker/functions/runs"
)

// snapshot returns the known runs.
func (m *model) snapshot() (keys []key) {
	m.View(func(x *runs.Index) { keys = slices.Collect(x.Keys()) })
	return keys
}

// deadLetterOne makes a dead letter.
func (w *world) deadLetterOne() {
	w.t.Helper()
	deadLetter := events.DeadLetter{
		Message: events.Message{Stream: events.StreamEvents, Sequence: 1, Subject: "events.transform-ready.nosuch.lost", Body: []byte(`{"transform_graph": "s3://bkt/graph"}`)},
		Reason:  events.DeadReason{Kind: events.FailureInput, Message: "expected the name of an applied pipeline, got nosuch", Field: "subject"},
	}
	if err := w.bus.DeadLetter(w.t.Context(), deadLetter); err != nil {
		w.t.Fatal(err)
	}
}

func TestTheNumberOfRunsInMemoryIsBounded(t *testing.T) {
	t.Parallel()
	w := setup(t, func(o *Options) { o.MaxRuns = 20 })
	w.publish(ready("under-way"))
	for i := range 100 {
		w.publish(trained(fmt.Sprintf("run-%03d", i)))
	}
	w.sees("/runs", "older runs are not shown", "run-099")
	if known := w.model.snapshot(); len(known) > 21 {
		t.Errorf("%d runs are kept", len(known))
	}
	w.sees("/runs?q=under-way", "under-way")
	w.sees("/run?pipeline=penguin&run=run-000", "trained", "0.875") // its own page reads the log
}

// BenchmarkMemory measures the memory of 5,000 runs: go test -run '^$' -bench Memory -benchtime 1x
// ./functions/console
func BenchmarkMemory(b *testing.B) {
	for b.Loop() {
		m := newModel(nil, 5000)
		before := heap()
		for i := range 5000 {
			run := fmt.Sprintf("run-%04d", i)
			for at, event := range []events.Event{ready(run), trained(run)} {
				m.Change(func(x *runs.Index) {
					x.ApplyEvent(events.Recorded{Event: event, Message: events.Message{Sequence: uint64(2*i + at), Stored: time.Unix(int64(i), 0)}})
				})
			}
			for step := range 600 {
				if i < maxLive { // curves of at most this many are kept
					m.progress(events.Progress{Pipeline: "penguin", Run: run, Step: step, Time: time.Now(), Metrics: map[string]float64{"loss": 1, "val_loss": 1}})
				}
			}
		}
		b.ReportMetric(float64(heap()-before)/5000, "bytes/run")
		b.ReportMetric(float64(heap()-before)/(1<<20), "MiB")
		runtime.KeepAlive(m)
	}
}

func heap() uint64 {
	var stats runtime.MemStats
	runtime.GC()
	runtime.ReadMemStats(&stats)
	return stats.HeapAlloc
}

// BenchmarkRunsPage makes the first page of 5,000 runs.
func BenchmarkRunsPage(b *testing.B) {
	m := newModel(nil, 5000)
	for i := range 5000 {
		m.Change(func(x *runs.Index) {
			x.ApplyEvent(events.Recorded{Event: trained(fmt.Sprintf("run-%04d", i)), Message: events.Message{Sequence: uint64(i), Stored: time.Unix(int64(i), 0)}})
		})
	}
	c, err := New(Options{})
	if err != nil {
		b.Fatal(err)
	}
	c.model = m
	p, request := c.runsPage(), newRequest(b)
	for b.Loop() {
		view, err := p.build(request)
		if err != nil {
			b.Fatal(err)
		}
		if _, err := c.frame(request, p, view).Body(); err != nil {
			b.Fatal(err)
		}
	}
}

func newRequest(tb testing.TB) *http.Request {
	return httptest.NewRequestWithContext(tb.Context(), http.MethodGet, "/", nil)
}
