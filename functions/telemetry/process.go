package telemetry

import (
	"context"
	"time"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/metric"
	"go.opentelemetry.io/otel/trace"

	"github.com/stoker-ml/stoker/events"
)

// Job begins the work on a job that was taken: one attempt, from here until the span's End. Where nobody traces here, ctx is at the
// place that the job says, for log lines and for a module that traces by itself.
func (t *Telemetry) Job(ctx context.Context, job events.Job, attempt events.Attempt) (context.Context, Span) {
	if t == nil {
		return Place{job.Trace, job.TraceState}.Within(ctx), Span{}
	}
	return t.handle(ctx, handling{
		destination: "jobs." + string(job.Function), template: jobTemplate, id: job.ID,
		run: run{job.Pipeline, job.Run}, place: Place{job.Trace, job.TraceState},
	}, attribute.String("stoker.job", job.ID), attribute.String("stoker.attempt", attempt.ID), attribute.Int("stoker.attempt.number", attempt.Number))
}

// factTime is what the handling of a fact may take.
const factTime = 5 * time.Minute

// Fact begins the handling of a fact that was delivered. What is no fact has no span. Where nobody traces here, ctx is at the place that
// the fact says.
func (t *Telemetry) Fact(ctx context.Context, r events.Recorded) (context.Context, Span) {
	if t == nil {
		return Place{r.Fact.Trace, r.Fact.TraceState}.Within(ctx), Span{}
	}
	ended := t.loops.begin("the handling of a fact", factTime)
	if r.Err != nil {
		return ctx, Span{then: func(error) { ended() }}
	}
	kind := r.Fact.Data.Kind()
	ctx, span := t.handle(ctx, handling{
		destination: "facts." + string(kind), template: factTemplate, id: r.Fact.ID,
		run: run{r.Fact.Pipeline, r.Fact.Run}, place: Place{r.Fact.Trace, r.Fact.TraceState},
	}, attribute.String("cloudevents.event_id", r.Fact.ID), attribute.String("cloudevents.event_source", r.Fact.Source),
		attribute.String("cloudevents.event_type", kind.Type()), attribute.String("cloudevents.event_spec_version", "1.0"))
	measured := span.then
	span.then = func(err error) { ended(); measured(err) }
	return ctx, span
}

// Marker begins the telling of an upload as a fact, by a bridge, in the trace of the fact's run.
func (t *Telemetry) Marker(ctx context.Context, f events.Fact) (context.Context, Span) {
	if t == nil {
		return Place{f.Trace, f.TraceState}.Within(ctx), Span{}
	}
	return t.handle(ctx, handling{
		destination: "buckets", template: bucketTemplate, id: f.ID, run: run{f.Pipeline, f.Run}, place: Place{f.Trace, f.TraceState},
	}, attribute.String("cloudevents.event_id", f.ID))
}

// handling is a message that is worked on.
type handling sending

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
	in, span := t.tracer.Start(in, "process "+h.destination, append(options, trace.WithSpanKind(trace.SpanKindConsumer), trace.WithAttributes(known...))...)
	return in, Span{span: span, then: measured}
}
