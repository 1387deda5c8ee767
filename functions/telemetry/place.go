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

// Place is a position in a trace, as events and jobs carry it: traceparent and tracestate of W3C
// Trace Context. The zero Place is none.
type Place struct{ Parent, State string }

// PlaceOf returns the position of the span of ctx; the zero Place without one.
func PlaceOf(ctx context.Context) Place {
	if !trace.SpanContextFromContext(ctx).IsValid() {
		return Place{}
	}
	carrier := propagation.MapCarrier{}
	w3c.Inject(ctx, carrier)
	return Place{carrier["traceparent"], carrier["tracestate"]}
}

// Within returns ctx with the remote span of the place; ctx itself if the place is zero or can't be
// read.
func (p Place) Within(ctx context.Context) context.Context {
	if p.Parent == "" {
		return ctx
	}
	return w3c.Extract(ctx, propagation.MapCarrier{"traceparent": p.Parent, "tracestate": p.State})
}

// span returns the span context of a place; an invalid one if it can't be read.
func (p Place) span() trace.SpanContext {
	return trace.SpanContextFromContext(p.Within(context.Background()))
}

// run identifies a run that has a trace.
type run struct{ pipeline, name string }

// trace returns the id of a run's trace if upstream names none: all events of the run have it,
// whichever process handles them, and however often.
func (r run) trace() (id trace.TraceID) {
	sum := sha256.Sum256([]byte("stoker run " + strconv.Itoa(len(r.pipeline)) + " " + r.pipeline + " " + r.name))
	copy(id[:], sum[:])
	return id
}

// enter returns ctx at the position of a message of a run. A ctx that is in the message's own trace
// stays as it is; if it has a span of another run, during which the message was sent, that becomes
// a link and not the parent.
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

// CausedBy returns ctx with further causes of the next message that is sent: its span has a link to
// each of the places. Places that can't be read are left out.
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

// causes is the context key of links for the next message.
type causes struct{}

// attemptSpan returns the id of the span of an attempt, by which the next attempt, on any machine,
// finds the one before it. A job that is enqueued again counts its attempts anew: message is its
// sequence.
func attemptSpan(job string, message uint64, number int) (id trace.SpanID) {
	sum := sha256.Sum256([]byte("stoker attempt " + job + " " + strconv.FormatUint(message, 10) + " " + strconv.Itoa(number)))
	copy(id[:], sum[:])
	return id
}

// again returns a link to the attempt before this one, in the same trace; none for a first attempt.
func again(in trace.TraceID, job string, message uint64, number int) []trace.SpanStartOption {
	if number < 2 {
		return nil
	}
	before := trace.NewSpanContext(trace.SpanContextConfig{
		TraceID: in, SpanID: attemptSpan(job, message, number-1), TraceFlags: trace.FlagsSampled, Remote: true,
	})
	return []trace.SpanStartOption{trace.WithLinks(trace.Link{SpanContext: before, Attributes: []attribute.KeyValue{linkKind.String("previous attempt")}})}
}

// spanOf is the context key of the id of the next span.
type spanOf struct{}

// rootOf is the context key of the id of the trace that the next span begins.
type rootOf struct{}

// runIDs generates the ids of spans and traces: random as W3C requires, except for those in a ctx.
type runIDs struct{}

// NewIDs implements sdktrace.IDGenerator.
func (g runIDs) NewIDs(ctx context.Context) (id trace.TraceID, span trace.SpanID) {
	id, named := ctx.Value(rootOf{}).(trace.TraceID)
	if !named {
		_, _ = rand.Read(id[:]) // Read never fails
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
