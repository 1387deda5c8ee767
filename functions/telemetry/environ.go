package telemetry

import (
	"context"
	"fmt"
)

// FromEnviron is the position in a trace of the process that started this one: TRACEPARENT and
// TRACESTATE, as OpenTelemetry's specification of environment variables as context propagation
// carriers has them. The zero Place if they are not set. The error says that TRACEPARENT can't be
// read; W3C Trace Context requires that such a value is ignored.
func FromEnviron(lookup func(name string) string) (Place, error) {
	p := Place{Parent: lookup("TRACEPARENT"), State: lookup("TRACESTATE")}
	if p.Parent == "" {
		return Place{}, nil
	}
	if !p.span().IsValid() {
		return Place{}, fmt.Errorf("TRACEPARENT %.60q: expected 00-<32 hexadecimal digits>-<16>-<2>", p.Parent)
	}
	return PlaceOf(p.Within(context.Background())), nil // a TRACESTATE that can't be read is left out
}

// TraceID is the id of the trace; "" for the zero Place.
func (p Place) TraceID() string {
	if s := p.span(); s.IsValid() {
		return s.TraceID().String()
	}
	return ""
}

// TraceOf is the id of the trace that a run is in if upstream names none.
func TraceOf(pipeline, name string) string { return run{pipeline, name}.trace().String() }
