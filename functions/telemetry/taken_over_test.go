package telemetry_test

import (
	"bufio"
	"context"
	"encoding/hex"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"strings"
	"testing"
	"time"

	tracepb "go.opentelemetry.io/proto/otlp/trace/v1"

	"github.com/stoker-ml/stoker/events"
	"github.com/stoker-ml/stoker/events/jetstream"
	"github.com/stoker-ml/stoker/functions/dispatch"
	"github.com/stoker-ml/stoker/functions/execution"
	"github.com/stoker-ml/stoker/functions/execution/trainer"
	"github.com/stoker-ml/stoker/functions/execution/tuner"
	"github.com/stoker-ml/stoker/functions/module/builtin"
	"github.com/stoker-ml/stoker/functions/pipeline"
	"github.com/stoker-ml/stoker/functions/runner"
	"github.com/stoker-ml/stoker/functions/stoker/stack"
	"github.com/stoker-ml/stoker/functions/telemetry"
	"github.com/stoker-ml/stoker/functions/worker"
	"github.com/stoker-ml/stoker/local/demo"
)

// shortLease is the lease of the workers here: one of them dies.
const shortLease = 3 * time.Second

// A search whose first attempt crashes, and a training whose first worker is killed, are parts of
// their run's trace, and each second attempt has a link to the first.
func TestARunIsOneTraceThoughAnAttemptFailsAndAWorkerDies(t *testing.T) {
	if testing.Short() {
		t.Skip("waits for a lease to run out")
	}
	spans := startSink(t)
	tele, err := telemetry.Open(t.Context(), telemetry.Options{Service: "stoker-test"})
	if err != nil {
		t.Fatal(err)
	}
	var trained events.Event
	var lost string // the span of the killed worker
	options := stack.Options{DataDir: t.TempDir(), Builtins: builtin.Digests(), NoWorker: true, Telemetry: tele}
	err = stack.With(t.Context(), options, func(ctx context.Context, s *stack.Stack) error {
		h := newHands(ctx, t, s, tele)
		h.publish(ctx, s)
		h.once(ctx, &crashing{Function: h.tuner})
		h.once(ctx, h.tuner)
		lost = dieAtWork(ctx, t, s.Connection().NATS)
		h.once(ctx, h.trainer)
		trained = h.outcome(ctx)
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	if err := tele.Close(t.Context()); err != nil {
		t.Fatal(err)
	}
	if spans.inOneTree(t) < 20 {
		t.Error("there are few spans")
	}
	tunes, trains := spans.attempts(t, "tune", 1, 2), spans.attempts(t, "train", 2)
	if text(tunes[0], "error.type") != "crash" || text(tunes[1], "error.type") != "" || trains[0].ParentSpanId == nil {
		t.Errorf("the search's attempts ended in %q and %q", text(tunes[0], "error.type"), text(tunes[1], "error.type"))
	}
	linked(t, tunes[1], hexOf(tunes[0].SpanId))
	linked(t, trains[0], lost)
	// The search's event completed the run; upstream's is a cause too.
	linked(t, spans.named(t, "send jobs.train"), upstreamSpan)
	announced := spans.named(t, "send events.model.trained")
	if want := "00-" + upstreamTrace + "-" + hexOf(announced.SpanId) + "-01"; trained.Trace != want || string(announced.ParentSpanId) != string(trains[0].SpanId) {
		t.Errorf("model.trained is at %s, want %s, below the attempt that made it", trained.Trace, want)
	}
}

// hands execute jobs of a real bus, with the real functions, one at a time.
type hands struct {
	*testing.T
	bus     events.Bus
	tele    *telemetry.Telemetry
	trainer worker.Function
	tuner   worker.Function
}

func newHands(ctx context.Context, t *testing.T, s *stack.Stack, tele *telemetry.Telemetry) hands {
	t.Helper()
	connection, err := jetstream.Connect(ctx, s.Connection().NATS, jetstream.Options{Create: true, Lease: shortLease})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = connection.Close() })
	host, err := runner.New(runner.Options{CacheDir: t.TempDir(), Builtins: builtin.Digests()})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(host.Close)
	bus := tele.Bus(connection)
	executor := execution.New(s.Store, host, execution.Options{Root: s.Root, WorkDir: t.TempDir(), Telemetry: tele})
	return hands{t, bus, tele, trainer.New(executor, trainer.Options{}), tuner.New(executor, bus)}
}

// publish deploys the pipeline, and publishes as upstream.
func (h hands) publish(ctx context.Context, s *stack.Stack) {
	h.Helper()
	spec, err := pipeline.Parse("penguin.yaml", []byte(searched))
	if err == nil {
		_, _, err = dispatch.Apply(ctx, s.Bus, spec)
	}
	if err == nil {
		err = demo.Upload(ctx, s.Store, s.Root.Join("demo"))
	}
	if err == nil {
		event := demo.Events(s.Root.Join("demo"), "monday")[1]
		event.Trace = "00-" + upstreamTrace + "-" + upstreamSpan + "-01"
		_, err = s.Bus.Publish(ctx, event)
	}
	if err != nil {
		h.Fatal(err)
	}
}

// once works on the next job of a function.
func (h hands) once(ctx context.Context, f worker.Function) {
	h.Helper()
	w := worker.New(h.bus, worker.Options{Functions: []worker.Function{f}, Telemetry: h.tele})
	if worked, err := w.Once(ctx, 2*time.Minute); !worked || err != nil {
		h.Fatal(f.Name(), worked, err)
	}
}

func (h hands) outcome(ctx context.Context) events.Event {
	h.Helper()
	for recorded, err := range h.bus.Read(ctx, events.Query{Kinds: events.OutcomeKinds(), Pipeline: "penguin", Run: "monday"}) {
		if err != nil || recorded.Event.Data.Kind() != events.KindModelTrained {
			h.Fatalf("%+v, %v", recorded.Event.Data, err)
		}
		return recorded.Event
	}
	h.Fatal("the run has no outcome")
	return events.Event{}
}

// crashing ends like a module whose process crashes.
type crashing struct{ worker.Function }

func (crashing) Handle(context.Context, worker.Task) ([]events.Event, error) {
	return nil, events.Fail(events.FailureCrash, errors.New("signal: killed"))
}

// doomedEnv makes this binary a worker that is killed at work, on the bus at that address.
const doomedEnv = "STOKER_TEST_DOOMED"

// dieAtWork has a process claim the train job and kills it. It returns the process's span.
func dieAtWork(ctx context.Context, t *testing.T, bus string) string {
	t.Helper()
	doomed := exec.CommandContext(ctx, os.Args[0])
	doomed.Env = append(os.Environ(), doomedEnv+"="+bus)
	doomed.Stderr = os.Stderr
	out, err := doomed.StdoutPipe()
	if err == nil {
		err = doomed.Start()
	}
	if err != nil {
		t.Fatal(err)
	}
	line, err := bufio.NewReader(out).ReadString('\n')
	if err != nil {
		t.Fatal(line, err)
	}
	_, _ = doomed.Process.Kill(), doomed.Wait() // it was killed
	return strings.Split(line, "-")[2]
}

// doom claims a train job, prints its position in the trace, and never ends.
func doom(ctx context.Context, url string) error {
	tele, err := telemetry.Open(ctx, telemetry.Options{Service: "stoker-doomed"})
	if err != nil {
		return err
	}
	bus, err := jetstream.Connect(ctx, url, jetstream.Options{Lease: shortLease})
	if err != nil {
		return err
	}
	stuck := quick{func(ctx context.Context, _ worker.Task) error {
		fmt.Println(telemetry.PlaceOf(ctx).Parent)
		<-ctx.Done()
		return ctx.Err()
	}}
	return worker.New(tele.Bus(bus), worker.Options{Functions: []worker.Function{stuck}, Telemetry: tele}).Run(ctx)
}

// inOneTree fails for a span of another trace, or whose parent is unknown. It returns how many
// there are.
func (s *sink) inOneTree(t *testing.T) int {
	t.Helper()
	known := map[string]bool{upstreamSpan: true}
	for _, span := range s.spans {
		if known[hexOf(span.SpanId)] {
			t.Errorf("two spans have the id of %s", span.Name)
		}
		known[hexOf(span.SpanId)] = true
	}
	for _, span := range s.spans {
		if hexOf(span.TraceId) != upstreamTrace || !known[hexOf(span.ParentSpanId)] {
			t.Errorf("%s is in trace %x below %x", span.Name, span.TraceId, span.ParentSpanId)
		}
	}
	return len(s.spans)
}

// attempts returns the spans of attempts at the job of a function, which must have the numbers, and
// be children of the span that enqueued it.
func (s *sink) attempts(t *testing.T, function string, numbers ...int64) (all []*tracepb.Span) {
	t.Helper()
	sent := s.named(t, "send jobs."+function)
	for _, number := range numbers {
		for _, span := range s.spans {
			if span.Name == "process jobs."+function && value(span, "stoker.attempt.number").GetIntValue() == number {
				all = append(all, span)
				if string(span.ParentSpanId) != string(sent.SpanId) {
					t.Errorf("attempt %d of the %s job is below %x, want %x", number, function, span.ParentSpanId, sent.SpanId)
				}
			}
		}
	}
	if len(all) != len(numbers) {
		t.Fatalf("%s has the attempts %v, want %v", function, all, numbers)
	}
	return all
}

// named returns the only span of a name.
func (s *sink) named(t *testing.T, name string) (found *tracepb.Span) {
	t.Helper()
	for _, span := range s.spans {
		if span.Name == name && found != nil {
			t.Fatalf("two spans are called %s", name)
		}
		if span.Name == name {
			found = span
		}
	}
	if found == nil {
		t.Fatalf("no span is called %s", name)
	}
	return found
}

// linked fails unless a span has one link, to a span of the run's trace.
func linked(t *testing.T, span *tracepb.Span, to string) {
	t.Helper()
	if len(span.Links) != 1 || hex.EncodeToString(span.Links[0].SpanId) != to || hexOf(span.Links[0].TraceId) != upstreamTrace {
		t.Errorf("%s has the links %v, want one to %s", span.Name, span.Links, to)
	}
}

func text(span *tracepb.Span, key string) string { return value(span, key).GetStringValue() }
