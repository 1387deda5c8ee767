package telemetry

import (
	"context"
	"fmt"
	"io"
	"log/slog"

	"go.opentelemetry.io/otel/trace"
)

// The formats of log lines.
const (
	LogText = "text"
	LogJSON = "json"
)

// NewLog returns a handler that writes lines in one of the formats, with trace_id and span_id if
// the ctx of a line is in a trace.
func NewLog(w io.Writer, format string, level slog.Leveler) (slog.Handler, error) {
	options := &slog.HandlerOptions{Level: level}
	switch format {
	case LogText:
		return traced{slog.NewTextHandler(w, options)}, nil
	case LogJSON:
		return traced{slog.NewJSONHandler(w, options)}, nil
	}
	return nil, fmt.Errorf("%q: expected text or json", format)
}

// traced adds the position in the trace to each line.
type traced struct{ slog.Handler }

// Handle implements slog.Handler.
func (h traced) Handle(ctx context.Context, line slog.Record) error {
	if at := trace.SpanContextFromContext(ctx); at.IsValid() {
		line = line.Clone()
		line.AddAttrs(slog.String("trace_id", at.TraceID().String()), slog.String("span_id", at.SpanID().String()))
	}
	return h.Handler.Handle(ctx, line)
}

// WithAttrs implements slog.Handler.
func (h traced) WithAttrs(attrs []slog.Attr) slog.Handler { return traced{h.Handler.WithAttrs(attrs)} }

// WithGroup implements slog.Handler.
func (h traced) WithGroup(name string) slog.Handler { return traced{h.Handler.WithGroup(name)} }
