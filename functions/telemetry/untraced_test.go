package telemetry_test

import (
	"bytes"
	"context"
	"log/slog"
	"strings"
	"testing"

	"github.com/stoker-ml/stoker/events"
	"github.com/stoker-ml/stoker/events/bustest"
	"github.com/stoker-ml/stoker/functions/telemetry"
	"github.com/stoker-ml/stoker/functions/worker"
)

// Without a collector, upstream's trace is passed on unchanged: to the log, to the worker of the
// job, and in the event.
func TestATraceIsPassedOnWithoutACollector(t *testing.T) {
	t.Parallel()
	for name, tele := range map[string]*telemetry.Telemetry{"nobody": nil, "counting": counting(t)} {
		var lines bytes.Buffer
		handler, err := telemetry.NewLog(&lines, telemetry.LogJSON, slog.LevelInfo)
		if err != nil {
			t.Fatal(err)
		}
		bus := tele.Bus(bustest.NewMemory(0))
		j := job("one")
		j.Trace, j.TraceState = "00-"+upstreamTrace+"-"+upstreamSpan+"-01", "rojo=1"
		if err := bus.Enqueue(t.Context(), j); err != nil {
			t.Fatal(err)
		}
		var within telemetry.Place
		does := func(ctx context.Context, _ worker.Task) error { within = telemetry.PlaceOf(ctx); return nil }
		w := worker.New(bus, worker.Options{Functions: []worker.Function{quick{does}}, Telemetry: tele, Logger: slog.New(handler)})
		if worked, err := w.Once(t.Context(), 0); !worked || err != nil {
			t.Fatal(worked, err)
		}
		if want := (telemetry.Place{Parent: j.Trace, State: j.TraceState}); within != want {
			t.Errorf("%s: the work is at %+v, want %+v", name, within, want)
		}
		if n := strings.Count(lines.String(), `"trace_id":"`+upstreamTrace+`","span_id":"`+upstreamSpan+`"`); n < 2 {
			t.Errorf("%s: %d lines name the trace:\n%s", name, n, &lines)
		}
		for recorded, err := range bus.Read(t.Context(), events.Query{Kinds: []events.Kind{events.KindModelTrained}}) {
			if err != nil || recorded.Event.Trace != j.Trace || recorded.Event.TraceState != "rojo=1" {
				t.Errorf("%s: the event has %q %q, %v", name, recorded.Event.Trace, recorded.Event.TraceState, err)
			}
		}
	}
}
