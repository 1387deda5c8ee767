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

// Telemetry records traces and metrics of one process. Its methods may be called by several
// goroutines at once; those of nil do nothing.
type Telemetry struct {
	tracing bool
	tracer  trace.Tracer
	meters  *meters      // nil: metrics are not collected
	metrics http.Handler // in Prometheus's format; nil without metrics
	loops   *loops
	log     *slog.Logger

	flush func(context.Context) error // of spans
	ends  []func(context.Context) error
}

// Options of a Telemetry.
type Options struct {
	Service string // name of the process, such as stoker-worker, if OTEL_SERVICE_NAME is not set
	Version string
	Scraped bool         // metrics are also kept for Metrics, not only sent by OTLP
	Logger  *slog.Logger // logs errors in sending spans or metrics

	Spans sdktrace.SpanProcessor // also gets all spans; for tests, and for other exporters
}

// Open reads OpenTelemetry's variables (see asked) and begins to collect what they request.
// If none of them is set, and nothing in the options, it returns nil. An error names the variable.
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

// scope is OpenTelemetry's name of this instrumentation.
const scope = "github.com/stoker-ml/stoker"

// closeTime limits how long a process that ends waits for its collector.
const closeTime = 5 * time.Second

// Close sends what has not been sent. It continues for a moment after ctx ended, because the last
// spans end when a process stops.
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

// Flush sends the spans that have ended, and returns once they are accepted.
func (t *Telemetry) Flush(ctx context.Context) error {
	if t == nil || t.flush == nil {
		return nil
	}
	return t.flush(ctx)
}

// Metrics serves all metrics in Prometheus's format; nil if metrics are not collected.
func (t *Telemetry) Metrics() http.Handler {
	if t == nil {
		return nil
	}
	return t.metrics
}

// w3c is the format of a position in a trace.
var w3c = propagation.TraceContext{}

func (t *Telemetry) onEnd(end func(context.Context) error) { t.ends = append(t.ends, end) }

var (
	_ sdkmetric.Reader     = (*sdkmetric.PeriodicReader)(nil)
	_ sdktrace.IDGenerator = runIDs{}
)
