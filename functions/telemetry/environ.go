package telemetry

import (
	"context"
	"fmt"
)

// FromEnviron is where in a trace whoever started this process is: TRACEPARENT and TRACESTATE, which OpenTelemetry's specification calls
// environment variables as context propagation carriers. None where they are not set. An error says that TRACEPARENT can't be read;
// W3C Trace Context has such a one ignored.
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

// TraceID is the id of the trace; "" of no place.
func (p Place) TraceID() string {
	if s := p.span(); s.IsValid() {
		return s.TraceID().String()
	}
	return ""
}

// TraceOf is the id of the trace that a run is in where upstream names none.
func TraceOf(pipeline, name string) string { return run{pipeline, name}.trace().String() }
