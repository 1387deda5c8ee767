package telemetry

import (
	"context"
	"crypto/rand"
	"crypto/sha256"
	"strconv"

	"go.opentelemetry.io/otel/attribute"
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

// CausedBy is ctx for something to send that these led to, beside what its trace says: the span of the next message that is sent has a
// link to each. Those that say nothing are left out.
func CausedBy(ctx context.Context, places ...Place) context.Context {
	var links []trace.Link
	for _, p := range places {
		if cause := p.span(); cause.IsValid() {
			links = append(links, trace.Link{SpanContext: cause})
		}
	}
	if len(links) == 0 {
		return ctx
	}
	return context.WithValue(ctx, causes{}, trace.WithLinks(links...))
}

// causes is the key of a ctx whose next message has links.
type causes struct{}

// attemptSpan is the id of the span of an attempt, by which the next attempt, wherever that is, finds the one before it. A job that is put on
// the queue anew counts its attempts anew: message is its sequence there.
func attemptSpan(job string, message uint64, number int) (id trace.SpanID) {
	sum := sha256.Sum256([]byte("stoker attempt " + job + " " + strconv.FormatUint(message, 10) + " " + strconv.Itoa(number)))
	copy(id[:], sum[:])
	return id
}

// again is a link to the attempt before one, in the same trace; none of a first attempt.
func again(in trace.TraceID, job string, message uint64, number int) []trace.SpanStartOption {
	if number < 2 {
		return nil
	}
	before := trace.NewSpanContext(trace.SpanContextConfig{
		TraceID: in, SpanID: attemptSpan(job, message, number-1), TraceFlags: trace.FlagsSampled, Remote: true,
	})
	return []trace.SpanStartOption{trace.WithLinks(trace.Link{SpanContext: before, Attributes: []attribute.KeyValue{linkKind.String("previous attempt")}})}
}

// spanOf is the key of a ctx whose next span has that id.
type spanOf struct{}

// rootOf is the key of a ctx whose next span begins a trace of that id.
type rootOf struct{}

// runIDs makes the ids of spans and traces: random as W3C has it, but for those that a ctx names.
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
func (runIDs) NewSpanID(ctx context.Context, _ trace.TraceID) (id trace.SpanID) {
	if id, named := ctx.Value(spanOf{}).(trace.SpanID); named && id.IsValid() {
		return id
	}
	_, _ = rand.Read(id[:])
	return id
}
