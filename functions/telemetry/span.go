package telemetry

import (
	"context"
	"errors"
	"fmt"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/codes"
	"go.opentelemetry.io/otel/trace"

	"github.com/stoker-ml/stoker/events"
)

// Span is a part of a trace. The zero value is no span.
type Span struct {
	span trace.Span
	then func(error) // called at the end
}

// Start begins a child of the span that ctx carries, and does nothing if there is none. It is used
// as
//
//	ctx, span := telemetry.Start(ctx, "stage")
//	defer span.End(&err)
func Start(ctx context.Context, name string) (context.Context, Span) {
	parent := trace.SpanFromContext(ctx)
	if !parent.IsRecording() {
		return ctx, Span{}
	}
	ctx, span := parent.TracerProvider().Tracer(scope).Start(ctx, name)
	return ctx, Span{span: span}
}

// Text sets an attribute of the span.
func (s Span) Text(key, value string) {
	if s.span != nil && value != "" {
		s.span.SetAttributes(attribute.String(key, value))
	}
}

// Count sets a numeric attribute of the span.
func (s Span) Count(key string, value int64) {
	if s.span != nil {
		s.span.SetAttributes(attribute.Int64(key, value))
	}
}

// End ends the span, with the error that err points to by then, if any. A Waiting is not an error,
// nor is a cancelled job.
func (s Span) End(err *error) {
	var failed error
	if err != nil {
		failed = *err
	}
	if s.span != nil {
		if kind := classOf(failed); kind != "" {
			s.span.SetStatus(codes.Error, failed.Error())
			s.span.SetAttributes(attribute.String(errorType, kind))
		}
		s.span.End()
	}
	if s.then != nil {
		s.then(failed)
	}
}

// Waiting is an error that is not a failure: the job waits for something.
type Waiting interface {
	error
	IsWaiting()
}

// errorType is OpenTelemetry's key for the class of an error.
const errorType = "error.type"

// classOf returns the class of an error, from a short list: a kind of failure, lost for a lease, or
// refused, conflict, and so on for errors of the bus; "" for no error.
func classOf(err error) string {
	if err == nil || errors.Is(err, events.ErrCancelled) || errors.Is(err, events.ErrEmpty) {
		return ""
	}
	if _, waits := errors.AsType[Waiting](err); waits {
		return ""
	}
	if failure, ok := errors.AsType[*events.Failure](err); ok {
		if failure.Kind == events.FailureCancelled {
			return ""
		}
		return string(failure.Kind)
	}
	if _, invalid := errors.AsType[*events.Invalid](err); invalid {
		return "invalid"
	}
	for _, known := range errorTypes {
		if errors.Is(err, known.is) {
			return known.kind
		}
	}
	return "_OTHER"
}

var errorTypes = []struct {
	kind string
	is   error
}{
	{"lease_lost", events.ErrLeaseLost}, {"refused", events.ErrRefused}, {"conflict", events.ErrConflict}, {"not_found", events.ErrNotFound},
	{"too_large", events.ErrTooLarge}, {"closed", events.ErrClosed}, {"timeout", context.DeadlineExceeded}, {"stopped", context.Canceled},
}

// FromEnviron returns the position in a trace of the process that started this one: TRACEPARENT and
// TRACESTATE, as OpenTelemetry's specification of environment variables as context propagation
// carriers defines them. It returns the zero Place if they are not set. The error says that
// TRACEPARENT can't be read; W3C Trace Context requires that such a value is ignored.
func FromEnviron(lookup func(name string) string) (Place, error) {
	p := Place{Parent: lookup("TRACEPARENT"), State: lookup("TRACESTATE")}
	if p.Parent == "" {
		return Place{}, nil
	}
	if !p.span().IsValid() {
		return Place{}, fmt.Errorf("TRACEPARENT %.60q: expected 00-<32 hexadecimal digits>-<16>-<2>", p.Parent)
	}
	// A TRACESTATE that can't be read is left out.
	return PlaceOf(p.Within(context.Background())), nil
}

// TraceID returns the id of the trace; "" for the zero Place.
func (p Place) TraceID() string {
	if s := p.span(); s.IsValid() {
		return s.TraceID().String()
	}
	return ""
}

// TraceOf returns the id of the trace that a run is in if upstream names none.
func TraceOf(pipeline, name string) string { return run{pipeline, name}.trace().String() }
