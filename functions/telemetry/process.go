package telemetry

import (
	"context"
	"time"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/metric"
	"go.opentelemetry.io/otel/trace"

	"github.com/stoker-ml/stoker/events"
)

// Job begins the span of a claimed job: one attempt, from here until the span's End. If spans are
// not collected here, ctx is at the job's position in the trace, for log lines and for a module
// that traces by itself. message is the job's sequence on the queue: with it, an attempt has a link
// to the one before it, whichever process made that.
func (t *Telemetry) Job(ctx context.Context, job events.Job, message uint64, attempt events.Attempt) (context.Context, Span) {
	if t == nil {
		return Place{job.Trace, job.TraceState}.Within(ctx), Span{}
	}
	return t.handle(ctx, handling{
		destination: "jobs." + string(job.Function), template: jobTemplate, id: job.ID,
		run: run{job.Pipeline, job.Run}, place: Place{job.Trace, job.TraceState}, attempt: attempt.Number, sequence: message,
	}, attribute.String("stoker.job", job.ID), attribute.String("stoker.attempt", attempt.ID), attribute.Int("stoker.attempt.number", attempt.Number))
}

// eventTime limits the handling of an event.
const eventTime = 5 * time.Minute

// Event begins the span of handling a delivered event. An invalid event has no span. If spans are
// not collected here, ctx is at the event's position in the trace.
func (t *Telemetry) Event(ctx context.Context, r events.Recorded) (context.Context, Span) {
	if t == nil {
		return Place{r.Event.Trace, r.Event.TraceState}.Within(ctx), Span{}
	}
	ended := t.loops.begin("handling an event", eventTime)
	if r.Err != nil {
		return ctx, Span{then: func(error) { ended() }}
	}
	kind := r.Event.Data.Kind()
	ctx, span := t.handle(ctx, handling{
		destination: "events." + string(kind), template: eventTemplate, id: r.Event.ID,
		run: run{r.Event.Pipeline, r.Event.Run}, place: Place{r.Event.Trace, r.Event.TraceState},
	}, attribute.String("cloudevents.event_id", r.Event.ID), attribute.String("cloudevents.event_source", r.Event.Source),
		attribute.String("cloudevents.event_type", kind.Type()), attribute.String("cloudevents.event_spec_version", "1.0"))
	measured := span.then
	span.then = func(err error) { ended(); measured(err) }
	return ctx, span
}

// Marker begins the span of publishing an event for an upload, by a bridge, in the trace of the
// event's run.
func (t *Telemetry) Marker(ctx context.Context, f events.Event) (context.Context, Span) {
	if t == nil {
		return Place{f.Trace, f.TraceState}.Within(ctx), Span{}
	}
	return t.handle(ctx, handling{
		destination: "buckets", template: bucketTemplate, id: f.ID, run: run{f.Pipeline, f.Run}, place: Place{f.Trace, f.TraceState},
	}, attribute.String("cloudevents.event_id", f.ID))
}

// handling is a message that is being handled.
type handling struct {
	destination, template, id string
	run                       run
	place                     Place

	attempt  int    // attempt at a job, from 1; 0 for other messages
	sequence uint64 // of the job on the queue
}

// trace returns the trace that the work is a part of.
func (h handling) trace(in context.Context) trace.TraceID {
	if here := trace.SpanContextFromContext(in); here.IsValid() {
		return here.TraceID()
	}
	return h.run.trace()
}

func (t *Telemetry) handle(ctx context.Context, h handling, more ...attribute.KeyValue) (context.Context, Span) {
	began := time.Now()
	measured := func(err error) {
		t.took(ctx, func(m *meters) metric.Float64Histogram { return m.process }, began, labels("process", h.template, err)...)
	}
	if !t.tracing {
		return h.place.Within(ctx), Span{then: measured}
	}
	in, options := enter(ctx, h.place, h.run)
	known := append([]attribute.KeyValue{
		operationName.String("process"), operationType.String("process"), system, destination.String(h.destination), template.String(h.template),
		messageID.String(h.id), pipelineSpan.String(h.run.pipeline), runSpan.String(h.run.name),
	}, more...)
	if h.attempt > 0 {
		in = context.WithValue(in, spanOf{}, attemptSpan(h.id, h.sequence, h.attempt))
		options = append(options, again(h.trace(in), h.id, h.sequence, h.attempt)...)
	}
	in, span := t.tracer.Start(in, "process "+h.destination, append(options, trace.WithSpanKind(trace.SpanKindConsumer), trace.WithAttributes(known...))...)
	if h.attempt > 0 {
		in = context.WithValue(in, spanOf{}, nil) // for its children
	}
	return in, Span{span: span, then: measured}
}
