package telemetry

import (
	"context"
	"crypto/rand"
	"crypto/sha256"
	"strconv"

	"go.opentelemetry.io/otel/propagation"
	"go.opentelemetry.io/otel/trace"
)

// Place is a place in a trace, as facts and jobs carry it: traceparent and tracestate of W3C Trace Context. "" is none.
type Place struct{ Parent, State string }

// PlaceOf is where the span of ctx is; none without one.
func PlaceOf(ctx context.Context) Place {
	if !trace.SpanContextFromContext(ctx).IsValid() {
		return Place{}
	}
	carrier := propagation.MapCarrier{}
	w3c.Inject(ctx, carrier)
	return Place{carrier["traceparent"], carrier["tracestate"]}
}

// Within is ctx at a place where somebody else's span is; ctx itself where the place is none, or can't be read.
func (p Place) Within(ctx context.Context) context.Context {
	if p.Parent == "" {
		return ctx
	}
	return w3c.Extract(ctx, propagation.MapCarrier{"traceparent": p.Parent, "tracestate": p.State})
}

// span is what a place says; an invalid one where it says nothing that can be read.
func (p Place) span() trace.SpanContext {
	return trace.SpanContextFromContext(p.Within(context.Background()))
}

// run names what has a trace.
type run struct{ pipeline, name string }

// trace is that of a run of which upstream said none: all facts of the run meet there, whoever handles them, and however often.
func (r run) trace() (id trace.TraceID) {
	sum := sha256.Sum256([]byte("stoker run " + strconv.Itoa(len(r.pipeline)) + " " + r.pipeline + " " + r.name))
	copy(id[:], sum[:])
	return id
}

// enter is ctx at the place of a message of a run. A ctx that is in the message's own trace stays as it is; a span of another run,
// which somebody worked on when this message came up, becomes a link and no parent.
func enter(ctx context.Context, p Place, r run) (context.Context, []trace.SpanStartOption) {
	here, there := trace.SpanContextFromContext(ctx), p.span()
	var options []trace.SpanStartOption
	switch {
	case there.IsValid() && here.TraceID() == there.TraceID() && !here.IsRemote():
		return ctx, nil
	case !there.IsValid() && here.IsValid():
		return ctx, nil
	case here.IsValid():
		options = append(options, trace.WithLinks(trace.Link{SpanContext: here}))
	}
	if there.IsValid() {
		return trace.ContextWithRemoteSpanContext(ctx, there), options
	}
	return context.WithValue(ctx, rootOf{}, r.trace()), options
}

// rootOf is the key of a ctx whose next span begins a trace of that id.
type rootOf struct{}

// runIDs makes the ids of spans, random as W3C has it, and of traces, which a ctx may name.
type runIDs struct{}

// NewIDs implements sdktrace.IDGenerator.
func (g runIDs) NewIDs(ctx context.Context) (id trace.TraceID, span trace.SpanID) {
	id, named := ctx.Value(rootOf{}).(trace.TraceID)
	if !named {
		_, _ = rand.Read(id[:]) // it never fails
	}
	return id, g.NewSpanID(ctx, id)
}

// NewSpanID implements sdktrace.IDGenerator.
func (runIDs) NewSpanID(context.Context, trace.TraceID) (id trace.SpanID) {
	_, _ = rand.Read(id[:])
	return id
}
