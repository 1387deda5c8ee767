package telemetry

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"slices"
	"strings"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/collectors"
	"github.com/prometheus/client_golang/prometheus/promhttp"
	"go.opentelemetry.io/otel/exporters/otlp/otlpmetric/otlpmetrichttp"
	"go.opentelemetry.io/otel/exporters/otlp/otlptrace/otlptracehttp"
	otelprometheus "go.opentelemetry.io/otel/exporters/prometheus"
	sdkmetric "go.opentelemetry.io/otel/sdk/metric"
	"go.opentelemetry.io/otel/sdk/resource"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"
	semconv "go.opentelemetry.io/otel/semconv/v1.43.0"
)

// wanted is what OpenTelemetry's variables request.
type wanted struct{ traces, metrics bool }

// asked reads the variables that name a collector; the SDK reads its address and all others itself.
func asked() (wanted, error) {
	if strings.EqualFold(os.Getenv("OTEL_SDK_DISABLED"), "true") {
		return wanted{}, nil
	}
	traces, tracesErr := askedFor("TRACES")
	metrics, metricsErr := askedFor("METRICS")
	return wanted{traces, metrics}, errors.Join(tracesErr, metricsErr)
}

// askedFor reports whether a signal is to be sent: an endpoint is set for it or for all, or its
// exporter is called otlp.
func askedFor(signal string) (bool, error) {
	exporter := os.Getenv("OTEL_" + signal + "_EXPORTER")
	if !slices.Contains([]string{"", "otlp", "none", "prometheus"}, exporter) {
		return false, fmt.Errorf("OTEL_%s_EXPORTER=%s: expected otlp or none", signal, exporter)
	}
	for _, name := range []string{"OTEL_EXPORTER_OTLP_" + signal + "_PROTOCOL", "OTEL_EXPORTER_OTLP_PROTOCOL"} {
		if protocol := os.Getenv(name); protocol != "" && protocol != "http/protobuf" {
			return false, fmt.Errorf("%s=%s: expected http/protobuf, which collectors take on port 4318", name, protocol)
		}
	}
	there := os.Getenv("OTEL_EXPORTER_OTLP_"+signal+"_ENDPOINT") != "" || os.Getenv("OTEL_EXPORTER_OTLP_ENDPOINT") != ""
	return exporter == "otlp" || exporter == "" && there, nil
}

// describe returns the resource of this process, with what OTEL_SERVICE_NAME and
// OTEL_RESOURCE_ATTRIBUTES add or override.
func describe(ctx context.Context, opts Options) (*resource.Resource, error) {
	self, err := resource.New(ctx,
		resource.WithAttributes(semconv.ServiceName(opts.Service), semconv.ServiceVersion(opts.Version)),
		resource.WithTelemetrySDK(), resource.WithHost(), resource.WithFromEnv())
	if err != nil {
		return nil, fmt.Errorf("OTEL_RESOURCE_ATTRIBUTES: %w", err)
	}
	return self, nil
}

// openTraces begins to collect spans. The SDK samples them by OTEL_TRACES_SAMPLER, or else as
// upstream does.
func (t *Telemetry) openTraces(ctx context.Context, opts Options, wants wanted, self *resource.Resource) error {
	options := []sdktrace.TracerProviderOption{sdktrace.WithResource(self), sdktrace.WithIDGenerator(runIDs{})}
	if wants.traces {
		exporter, err := otlptracehttp.New(ctx)
		if err != nil {
			return fmt.Errorf("send traces: %w", err)
		}
		options = append(options, sdktrace.WithBatcher(loggedExporter{exporter, t.log}))
	}
	if opts.Spans != nil {
		options = append(options, sdktrace.WithSpanProcessor(opts.Spans))
	}
	provider := sdktrace.NewTracerProvider(options...)
	t.tracer = provider.Tracer(scope)
	t.flush = provider.ForceFlush
	t.onEnd(provider.Shutdown)
	return nil
}

// openMetrics begins to collect metrics.
func (t *Telemetry) openMetrics(ctx context.Context, opts Options, wants wanted, self *resource.Resource) error {
	options := []sdkmetric.Option{sdkmetric.WithResource(self)}
	if wants.metrics {
		exporter, err := otlpmetrichttp.New(ctx)
		if err != nil {
			return fmt.Errorf("send metrics: %w", err)
		}
		options = append(options, sdkmetric.WithReader(sdkmetric.NewPeriodicReader(exporter)))
	}
	if opts.Scraped {
		registry := prometheus.NewRegistry()
		registry.MustRegister(collectors.NewGoCollector(), collectors.NewProcessCollector(collectors.ProcessCollectorOpts{}))
		reader, err := otelprometheus.New(otelprometheus.WithRegisterer(registry), otelprometheus.WithoutScopeInfo())
		if err != nil {
			return fmt.Errorf("serve metrics: %w", err)
		}
		options = append(options, sdkmetric.WithReader(reader))
		t.metrics = promhttp.HandlerFor(registry, promhttp.HandlerOpts{EnableOpenMetrics: true})
	}
	provider := sdkmetric.NewMeterProvider(options...)
	t.onEnd(provider.Shutdown)
	var err error
	t.meters, err = newMeters(provider.Meter(scope))
	return err
}

// loggedExporter logs that a collector does not accept spans: the SDK's own message would not reach
// the log.
type loggedExporter struct {
	sdktrace.SpanExporter
	log *slog.Logger
}

// ExportSpans implements sdktrace.SpanExporter.
func (e loggedExporter) ExportSpans(ctx context.Context, spans []sdktrace.ReadOnlySpan) error {
	err := e.SpanExporter.ExportSpans(ctx, spans)
	if err != nil {
		e.log.Warn("traces not sent", "spans", len(spans), "error", err)
	}
	return nil
}
