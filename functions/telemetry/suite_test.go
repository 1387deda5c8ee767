package telemetry_test

import (
	"context"
	"testing"

	sdktrace "go.opentelemetry.io/otel/sdk/trace"

	"github.com/stoker-ml/stoker/events"
	"github.com/stoker-ml/stoker/events/bustest"
	"github.com/stoker-ml/stoker/functions/telemetry"
)

// watchedBus is a bus with telemetry, for the conformance suite.
type watchedBus struct {
	events.Bus
	below *bustest.Memory
}

func (w watchedBus) Inject(ctx context.Context, subject string, header map[string][]string, body []byte) error {
	return w.below.Inject(ctx, subject, header, body)
}

func (w watchedBus) Close() error { return w.below.Close() }

func TestABusWithTelemetryPassesTheSuite(t *testing.T) {
	t.Parallel()
	bustest.RunInBubble(t, func(t *testing.T) bustest.Bus {
		bus := bustest.NewMemory(bustest.Lease)
		// Traced messages would differ from those that were sent.
		return watchedBus{counting(t).Bus(bus), bus}
	})
}

func counting(t testing.TB) *telemetry.Telemetry {
	return opened(t, telemetry.Options{Scraped: true})
}

// traced returns a Telemetry that collects everything.
func traced(t testing.TB, to sdktrace.SpanExporter) *telemetry.Telemetry {
	return opened(t, telemetry.Options{Scraped: true, Spans: sdktrace.NewSimpleSpanProcessor(to)})
}

func opened(t testing.TB, options telemetry.Options) *telemetry.Telemetry {
	t.Helper()
	options.Service = "stoker-test"
	tele, err := telemetry.Open(context.Background(), options)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := tele.Close(context.Background()); err != nil {
			t.Error(err)
		}
	})
	return tele
}
