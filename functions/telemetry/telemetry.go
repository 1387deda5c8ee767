package telemetry

import (
	"context"
	"errors"
	"log/slog"
	"net/http"
	"time"

	"go.opentelemetry.io/otel/propagation"
	sdkmetric "go.opentelemetry.io/otel/sdk/metric"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/trace"
	"go.opentelemetry.io/otel/trace/noop"
)

// Telemetry is what one process tells of itself. Its methods may be called from several goroutines at once; those of nil do nothing.
type Telemetry struct {
	tracing bool
	tracer  trace.Tracer
	meters  *meters      // nil: nobody asks for metrics
	metrics http.Handler // in Prometheus's format; nil without
	loops   *loops
	log     *slog.Logger

	flush func(context.Context) error // of spans
	ends  []func(context.Context) error
}

// Options of a Telemetry.
type Options struct {
	Service string // what the process is, stoker-worker say, where OTEL_SERVICE_NAME says nothing
	Version string
	Scraped bool         // metrics are kept for Metrics too, not only for OTLP
	Logger  *slog.Logger // is told when nobody takes spans or metrics

	Spans sdktrace.SpanProcessor // gets all spans besides; for tests and for who has a way of his own
}

// Open reads OpenTelemetry's variables (Says lists them) and begins to collect what they ask for. With none of them set, and nothing
// in the options, it returns nil. An error names the variable.
func Open(ctx context.Context, opts Options) (*Telemetry, error) {
	if opts.Logger == nil {
		opts.Logger = slog.New(slog.DiscardHandler)
	}
	wants, err := asked()
	if err != nil {
		return nil, err
	}
	tracing := wants.traces || opts.Spans != nil
	if !tracing && !wants.metrics && !opts.Scraped {
		return nil, nil
	}
	t := &Telemetry{tracing: tracing, tracer: noop.NewTracerProvider().Tracer(scope), loops: newLoops(time.Now), log: opts.Logger}
	self, err := describe(ctx, opts)
	if err == nil && tracing {
		err = t.openTraces(ctx, opts, wants, self)
	}
	if err == nil && (wants.metrics || opts.Scraped) {
		err = t.openMetrics(ctx, opts, wants, self)
	}
	if err != nil {
		return nil, errors.Join(err, t.Close(ctx))
	}
	return t, nil
}

// scope is OpenTelemetry's name for who makes spans and metrics.
const scope = "github.com/stoker-ml/stoker"

// closeTime bounds what a process that ends waits for its collector.
const closeTime = 5 * time.Second

// Close sends what is left. It goes on for a moment after ctx ended, as a process that is told to leave has most to tell.
func (t *Telemetry) Close(ctx context.Context) error {
	if t == nil {
		return nil
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), closeTime)
	defer cancel()
	var errs []error
	for _, end := range t.ends {
		errs = append(errs, end(ctx))
	}
	return errors.Join(errs...)
}

// Flush sends the spans that have ended by now, and returns once they are taken.
func (t *Telemetry) Flush(ctx context.Context) error {
	if t == nil || t.flush == nil {
		return nil
	}
	return t.flush(ctx)
}

// Metrics serves what there is in Prometheus's format. nil where nobody asked for it.
func (t *Telemetry) Metrics() http.Handler {
	if t == nil {
		return nil
	}
	return t.metrics
}

// w3c is how a place in a trace is written.
var w3c = propagation.TraceContext{}

func (t *Telemetry) onEnd(end func(context.Context) error) { t.ends = append(t.ends, end) }

var (
	_ sdkmetric.Reader     = (*sdkmetric.PeriodicReader)(nil)
	_ sdktrace.IDGenerator = runIDs{}
)
