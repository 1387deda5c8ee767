package telemetry_test

import (
	"context"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"runtime"
	"strconv"
	"syscall"
	"testing"
	"time"

	sdktrace "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/sdk/trace/tracetest"

	"github.com/stoker-ml/stoker/events"
	"github.com/stoker-ml/stoker/events/bustest"
	"github.com/stoker-ml/stoker/functions/telemetry"
	"github.com/stoker-ml/stoker/functions/worker"
)

// quick is a function whose jobs are done by the test.
type quick struct {
	does func(ctx context.Context, task worker.Task) error
}

func (quick) Name() events.Function           { return events.FunctionTrain }
func (quick) Limits(events.Job) worker.Limits { return worker.Limits{Attempts: 1, Crashes: 2} }
func (quick) Failed(task worker.Task, failure *events.Failure) events.Event {
	return events.NewJobFailed(task.Job, task.Attempt, failure)
}

func (q quick) Handle(ctx context.Context, task worker.Task) ([]events.Event, error) {
	if err := q.does(ctx, task); err != nil {
		return nil, err
	}
	data := &events.ModelTrained{
		Model: events.Model{URI: "s3://bucket/model", Digest: digest, Formats: []string{"Format-Serving"}}, Execution: digest, Module: digest, Generation: 1, Inputs: []events.Artifact{},
		Started: time.Unix(1, 0).UTC(), Finished: time.Unix(2, 0).UTC(), Attempts: 1,
	}
	return []events.Event{events.NewModelTrained(task.Job, data)}, nil
}

const digest = "sha256:e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855"

func job(id string) events.Job {
	return events.Job{
		ID: id, Function: events.FunctionTrain, Class: "cpu", Pipeline: "penguin", Run: "run-" + id, Spec: []byte("{}"),
		Causes: []events.Cause{{Kind: events.KindTransformReady, Source: "/up", ID: "1", Sequence: 1}},
	}
}

// work enqueues a job and runs a worker on it.
func work(t testing.TB, bus events.Bus, tele *telemetry.Telemetry, j events.Job, does func(context.Context, worker.Task) error) {
	t.Helper()
	if err := bus.Enqueue(context.Background(), j); err != nil {
		t.Fatal(err)
	}
	w := worker.New(bus, worker.Options{Functions: []worker.Function{quick{does}}, Telemetry: tele})
	if worked, err := w.Once(context.Background(), 0); !worked || err != nil {
		t.Fatal(worked, err)
	}
}

// scrape returns what /metrics serves.
func scrape(t testing.TB, tele *telemetry.Telemetry) string {
	t.Helper()
	answer := httptest.NewRecorder()
	tele.Metrics().ServeHTTP(answer, httptest.NewRequest(http.MethodGet, "/metrics", nil))
	text, err := io.ReadAll(answer.Result().Body)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

func TestAJobThatFailsIsASpanWithItsError(t *testing.T) {
	t.Parallel()
	spans := tracetest.NewInMemoryExporter()
	tele := traced(t, spans)
	bus := tele.Bus(bustest.NewMemory(0))
	work(t, bus, tele, job("one"), func(ctx context.Context, _ worker.Task) (err error) {
		_, span := telemetry.Start(ctx, "module")
		defer span.End(&err)
		return events.Fail(events.FailureCheck, errors.New("no model"))
	})
	said := map[string]string{}
	for _, span := range spans.GetSpans() {
		for _, attribute := range span.Attributes {
			if attribute.Key == "error.type" {
				said[span.Name] = attribute.Value.AsString()
			}
		}
	}
	if said["process jobs.train"] != "check" || said["module"] != "check" {
		t.Errorf("errors are %v", said)
	}
}

// Without telemetry nothing is wrapped and nothing is allocated.
func TestNilTelemetryCostsNothing(t *testing.T) {
	tele, err := telemetry.Open(t.Context(), telemetry.Options{Service: "stoker-test"})
	if tele != nil || err != nil {
		t.Fatal(tele, err)
	}
	bus := bustest.NewMemory(0)
	if tele.Bus(bus) != events.Bus(bus) {
		t.Error("the bus is wrapped without telemetry")
	}
	ctx := t.Context()
	if n := testing.AllocsPerRun(100, func() { _, span := telemetry.Start(ctx, "stage"); span.End(nil) }); n != 0 {
		t.Errorf("a span without telemetry costs %v allocations", n)
	}
}

// allocationsAJob limits the allocations of a job's spans: about fifteen for each.
const allocationsAJob = 200

func TestTracingAJobCostsABoundedNumberOfAllocations(t *testing.T) {
	plain := testing.AllocsPerRun(50, oneJob(t, nil))
	tele := opened(t, telemetry.Options{Spans: sdktrace.NewBatchSpanProcessor(tracetest.NewNoopExporter())})
	traced := testing.AllocsPerRun(50, oneJob(t, tele))
	if more := traced - plain; more > allocationsAJob || more <= 0 {
		t.Errorf("%v allocations a job without tracing and %v with it: expected at most %d more", plain, traced, allocationsAJob)
	}
}

// oneJob returns a function that does one more job, with the spans that a training has.
func oneJob(t testing.TB, tele *telemetry.Telemetry) func() {
	bus, n := tele.Bus(bustest.NewMemory(0)), 0
	return func() {
		n++
		work(t, bus, tele, job("job-"+strconv.Itoa(n)), stages)
	}
}

// stages makes the spans of a training, without work in them.
func stages(ctx context.Context, _ worker.Task) (err error) {
	for _, name := range []string{"identify", "stage", "module", "check", "publish", "commit"} {
		_, span := telemetry.Start(ctx, name)
		span.Text("stoker.execution", digest)
		span.End(&err)
	}
	return nil
}

// BenchmarkJob is a job on a bus in memory, with its spans and metrics.
func BenchmarkJob(b *testing.B) {
	for name, options := range map[string]*telemetry.Options{
		"off":     nil,
		"traced":  {Spans: sdktrace.NewBatchSpanProcessor(tracetest.NewNoopExporter())},
		"counted": {Scraped: true},
	} {
		b.Run(name, func(b *testing.B) {
			var tele *telemetry.Telemetry
			if options != nil {
				tele = opened(b, *options)
			}
			b.ReportAllocs()
			run := oneJob(b, tele)
			for b.Loop() {
				run()
			}
		})
	}
}

// BenchmarkTracing measures what tracing adds to a job: the same jobs, with a bus in memory and no
// work in them, without tracing and with all the spans that a training has. Spans go by OTLP over
// HTTP to a receiver in this process that reads and drops them. The time and the allocations are
// those of the worker's own steps; the CPU time includes sending and receiving. The SDK drops spans
// of more than some hundred jobs: use -benchtime 200x.
func BenchmarkTracing(b *testing.B) {
	receiver := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) { _, _ = io.Copy(io.Discard, r.Body) }))
	defer receiver.Close()
	b.Setenv("OTEL_EXPORTER_OTLP_TRACES_ENDPOINT", receiver.URL+"/v1/traces")
	plain := spentOn(b, nil)
	tele, err := telemetry.Open(b.Context(), telemetry.Options{Service: "stoker-bench"})
	if err != nil {
		b.Fatal(err)
	}
	traced := spentOn(b, tele)
	if err := tele.Close(b.Context()); err != nil {
		b.Fatal(err)
	}
	jobs := float64(b.N)
	b.ReportMetric((traced.seconds-plain.seconds)/jobs*1e6, "added-us/op")
	b.ReportMetric((traced.cpu-plain.cpu)/jobs*1e6, "added-cpu-us/op")
	b.ReportMetric((traced.allocations-plain.allocations)/jobs, "added-allocs/op")
}

// spending is what some jobs consumed.
type spending struct{ seconds, cpu, allocations float64 }

// spentOn works on b.N jobs. The CPU time ends when the spans of the last one are sent.
func spentOn(b *testing.B, tele *telemetry.Telemetry) spending {
	b.Helper()
	runtime.GC()
	run := oneJob(b, tele)
	began, before, cpu := time.Now(), mallocs(), cpuSeconds(b)
	for range b.N {
		run()
	}
	s := spending{seconds: time.Since(began).Seconds(), allocations: mallocs() - before}
	if err := tele.Flush(b.Context()); err != nil {
		b.Fatal(err)
	}
	s.cpu = cpuSeconds(b) - cpu
	return s
}

func mallocs() float64 {
	var memory runtime.MemStats
	runtime.ReadMemStats(&memory)
	return float64(memory.Mallocs)
}

func cpuSeconds(b *testing.B) float64 {
	b.Helper()
	var usage syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &usage); err != nil {
		b.Fatal(err)
	}
	return time.Duration(usage.Utime.Nano() + usage.Stime.Nano()).Seconds()
}
