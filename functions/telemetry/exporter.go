package telemetry

import (
	"context"
	"log/slog"

	sdktrace "go.opentelemetry.io/otel/sdk/trace"
)

// loggedExporter logs that a collector takes no spans: the SDK's own message would not reach the
// log.
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
