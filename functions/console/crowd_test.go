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

// population publishes the events of so many runs: most are trained, some fail, some wait.
func (w *world) population(runs int) {
	w.t.Helper()
	for i := range runs {
		run := fmt.Sprintf("run-%04d", i)
		w.publish(ready(run))
		if i%7 == 3 {
			w.publish(failed(run, "ValueError: Dimensions must be equal, but are 13 and 14 for '{{node mul}}' with input shapes: [?,13], [14].\nTraceback ..."))
		} else if i%7 != 5 {
			w.publish(logged12(trained(run), i))
		}
	}
}

// filteredRuns is a list of runs with a filter, an order and columns.
const filteredRuns = "/runs?q=run-00+state%3Dtrained+accuracy+%3E+0.95&sort=-metric.accuracy&columns=state&columns=loss&columns=model&columns=cached&columns=started&columns=updated&columns=metric.accuracy&columns=param.learning_rate"

// logged12 gives a training one of twelve run logs, and metrics that match it.
func logged12(event events.Event, i int) events.Event {
	trained := event.Data.(*events.ModelTrained)
	trained.ModelRun = fmt.Sprintf("s3://bkt/penguin/Trainer/model_run/%d", i%12)
	trained.Metrics = map[string]float64{"accuracy": 0.9 + float64(i*37%97)/1000, "loss": 0.2 + float64(i*53%89)/1000}
	trained.Finished = trained.Started.Add(time.Duration(40+i*31%240) * time.Second)
	return event
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

// BenchmarkPages serves pages of a console with 5,000 runs on a bus and a store in memory.
func BenchmarkPages(b *testing.B) {
	w := setup(b, nil)
	w.apply(penguin)
	w.population(5000)
	w.descended()
	w.eventually("all runs are known", func() bool { return len(w.model.snapshot()) >= 5002 })
	for name, path := range map[string]string{"runs filtered": filteredRuns, "lineage": "/lineage?pipeline=penguin&run=fine-tuned", "lineage of one of many": "/lineage?pipeline=penguin&run=run-0001"} {
		b.Run(name, func(b *testing.B) {
			for b.Loop() {
				if status, body := w.get(path); status != http.StatusOK {
					b.Fatal(status, body)
				}
			}
		})
	}
}

func newRequest(tb testing.TB) *http.Request {
	return httptest.NewRequestWithContext(tb.Context(), http.MethodGet, "/", nil)
}
