package telemetry

import (
	"context"
	"errors"
	"strings"
	"sync"
	"time"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/metric"
	"go.opentelemetry.io/otel/trace"

	"github.com/stoker-ml/stoker/events"
)

// Bus returns bus with telemetry: events and jobs carry their position in the trace of their run,
// and sent, claimed and settled messages are counted. It keeps every contract of bus. If t is nil
// it returns bus itself.
func (t *Telemetry) Bus(bus events.Bus) events.Bus {
	if t == nil {
		return bus
	}
	return &observedBus{Bus: bus, t: t, steps: map[string]position{}}
}

type observedBus struct {
	events.Bus
	t *Telemetry

	mu    sync.Mutex
	steps map[string]position // steps that running attempts have reported
}

// Publish implements events.EventLog.
func (b *observedBus) Publish(ctx context.Context, f events.Event) (receipt events.Receipt, err error) {
	if f.Data == nil {
		return b.Bus.Publish(ctx, f)
	}
	s := sending{
		destination: "events." + string(f.Data.Kind()), template: eventTemplate, id: f.ID, run: run{f.Pipeline, f.Run}, place: Place{f.Trace, f.TraceState},
	}
	err = b.t.send(ctx, s, func(ctx context.Context, place Place) error {
		if place.Parent != "" {
			f.Trace, f.TraceState = place.Parent, place.State
		}
		receipt, err = b.Bus.Publish(ctx, f)
		return err
	})
	if err == nil && !receipt.Duplicate {
		b.t.countResult(ctx, f)
	}
	return receipt, err
}

// Enqueue implements events.JobQueue.
func (b *observedBus) Enqueue(ctx context.Context, j events.Job) error {
	s := sending{
		destination: "jobs." + string(j.Function), template: jobTemplate, id: j.ID, run: run{j.Pipeline, j.Run}, place: Place{j.Trace, j.TraceState},
	}
	return b.t.send(ctx, s, func(ctx context.Context, place Place) error {
		if place.Parent != "" {
			j.Trace, j.TraceState = place.Parent, place.State
		}
		return b.Bus.Enqueue(ctx, j)
	})
}

// Subjects, with braces around the parts that differ between messages.
const (
	eventTemplate = "events.{kind}.{pipeline}.{run}.{id}"
	jobTemplate   = "jobs.{function}.{class}.{job}"

	bucketTemplate = "buckets.{store}"
)

// sending is a message that is being sent to the bus.
type sending struct {
	destination, template, id string
	run                       run
	place                     Place // its position so far
}

// send traces and times do, which sends a message with its position in the trace.
func (t *Telemetry) send(ctx context.Context, s sending, do func(context.Context, Place) error) (err error) {
	began, place := time.Now(), Place{}
	if t.tracing {
		in, options := enter(ctx, s.place, s.run)
		if links, ok := ctx.Value(causes{}).(trace.SpanStartOption); ok {
			options = append(options, links)
		}
		spanned, span := t.tracer.Start(in, "send "+s.destination, append(options, trace.WithSpanKind(trace.SpanKindProducer), trace.WithAttributes(
			operationName.String("send"), operationType.String("send"), system, destination.String(s.destination),
			template.String(s.template), messageID.String(s.id), pipelineSpan.String(s.run.pipeline), runSpan.String(s.run.name)))...)
		ctx, place = spanned, PlaceOf(spanned)
		defer Span{span: span}.End(&err)
	}
	err = do(ctx, place)
	t.operated(ctx, "send", s.template, began, err)
	t.add(ctx, func(m *meters) metric.Int64Counter { return m.sent }, 1, labels("send", s.template, err)...)
	return err
}

// operated records how long an operation of the bus took.
func (t *Telemetry) operated(ctx context.Context, name, template string, began time.Time, err error) {
	kind := attribute.KeyValue{}
	if name == "ack" || name == "nak" || name == "term" {
		kind = operationType.String("settle")
	} else {
		kind = operationType.String(name)
	}
	t.took(ctx, func(m *meters) metric.Float64Histogram { return m.operation }, began, append(labels(name, template, err), kind)...)
}

// Attribute keys of OpenTelemetry's conventions for messaging.
const (
	operationName = attribute.Key("messaging.operation.name")
	operationType = attribute.Key("messaging.operation.type")
	destination   = attribute.Key("messaging.destination.name")
	template      = attribute.Key("messaging.destination.template")
	messageID     = attribute.Key("messaging.message.id")
	consumerGroup = attribute.Key("messaging.consumer.group.name")

	pipelineSpan = attribute.Key("stoker.pipeline")
	runSpan      = attribute.Key("stoker.run")
	linkKind     = attribute.Key("stoker.link") // what a link is to
)

var system = attribute.String("messaging.system", "nats")

// labels returns the labels of a metric about messages: never a value that differs between
// messages.
func labels(operation, to string, err error) []attribute.KeyValue {
	all := []attribute.KeyValue{operationName.String(operation), system, template.String(to)}
	if kind := classOf(err); kind != "" {
		all = append(all, attribute.String(errorType, kind))
	}
	return all
}

// countResult counts the model or the hyperparameters that an event announces.
func (t *Telemetry) countResult(ctx context.Context, f events.Event) {
	switch data := f.Data.(type) {
	case *events.ModelTrained:
		t.add(ctx, func(m *meters) metric.Int64Counter { return m.models }, 1, pipelineKey(f.Pipeline), attribute.Bool("cached", data.Cached))
	case *events.HParamsReady:
		t.add(ctx, func(m *meters) metric.Int64Counter { return m.hyperparameters }, 1, pipelineKey(f.Pipeline), attribute.Bool("cached", data.Cached || data.Reused))
	default: // other events announce neither
	}
}

// DeadLetter implements events.DeadLetterQueue.
func (b *observedBus) DeadLetter(ctx context.Context, d events.DeadLetter) error {
	err := b.Bus.DeadLetter(ctx, d)
	if err == nil {
		b.t.deadLettered(ctx, d.Message.Stream, d.Reason.Kind)
	}
	return err
}

func (t *Telemetry) deadLettered(ctx context.Context, stream string, kind events.FailureKind) {
	t.add(ctx, func(m *meters) metric.Int64Counter { return m.dead }, 1, attribute.String("stream", stream), attribute.String("kind", string(kind)))
}

// Claim implements events.JobQueue.
func (b *observedBus) Claim(ctx context.Context, f events.Function, classes []string, wait time.Duration) (events.Claim, error) {
	defer b.t.loops.begin("a request for "+string(f)+" jobs", wait)()
	taken, err := b.Bus.Claim(ctx, f, classes, wait)
	if err != nil {
		return nil, err
	}
	return b.claim(ctx, f, taken), nil
}

// Follow implements events.EventLog.
func (b *observedBus) Follow(ctx context.Context, reader string, wait time.Duration) (events.EventDelivery, error) {
	defer b.t.loops.begin("a request for events", wait)()
	delivery, err := b.Bus.Follow(ctx, reader, wait)
	if err != nil {
		return nil, err
	}
	b.t.consumed(ctx, eventTemplate)
	return timedDelivery{delivery, delivery, b.t}, nil
}

// FollowBuckets implements events.BucketNotifications.
func (b *observedBus) FollowBuckets(ctx context.Context, reader string, wait time.Duration) (events.Delivery, error) {
	defer b.t.loops.begin("a request for bucket notifications", wait)()
	return b.Bus.FollowBuckets(ctx, reader, wait)
}

func (t *Telemetry) consumed(ctx context.Context, template string) {
	t.add(ctx, func(m *meters) metric.Int64Counter { return m.consumed }, 1, labels("receive", template, nil)...)
}

// Report implements events.Bus. Steps are counted as they are reported; a trial that begins, or
// that resumes from a checkpoint, starts counting at its current step.
func (b *observedBus) Report(ctx context.Context, p events.Progress) error {
	if isTraining(p.Phase) && p.Step > 0 {
		b.mu.Lock()
		before := b.steps[p.Attempt]
		b.steps[p.Attempt] = position{p.Phase, p.Step}
		b.mu.Unlock()
		if more := p.Step - before.step; before.phase == p.Phase && more > 0 {
			b.t.add(ctx, func(m *meters) metric.Int64Counter { return m.steps }, int64(more), pipelineKey(p.Pipeline))
		}
	}
	return b.Bus.Report(ctx, p)
}

// position is how far an attempt has progressed.
type position struct {
	phase string
	step  int
}

// isTraining reports whether the steps of a phase are those of a training: of a job, or of a trial.
func isTraining(phase string) bool { return phase == "training" || strings.HasPrefix(phase, "trial ") }

func (b *observedBus) forget(attempt string) {
	b.mu.Lock()
	defer b.mu.Unlock()
	delete(b.steps, attempt)
}

// timedDelivery is a delivered event whose settling is timed.
type timedDelivery struct {
	events.Delivery
	delivery events.EventDelivery
	t        *Telemetry
}

// Recorded implements events.Delivery.
func (w timedDelivery) Recorded() events.Recorded { return w.delivery.Recorded() }

// Ack implements events.Delivery.
func (w timedDelivery) Ack(ctx context.Context) error {
	began := time.Now()
	err := w.Delivery.Ack(ctx)
	w.t.operated(ctx, "ack", eventTemplate, began, err)
	return err
}

// Nak implements events.Delivery.
func (w timedDelivery) Nak(ctx context.Context, delay time.Duration) error {
	began := time.Now()
	err := w.Delivery.Nak(ctx, delay)
	w.t.operated(ctx, "nak", eventTemplate, began, err)
	return err
}

// claim counts the outcome of an attempt at a job.
type claim struct {
	events.Claim
	bus    *observedBus
	labels []attribute.KeyValue
	began  time.Time
	held   error // the error of KeepAlive
}

func (b *observedBus) claim(ctx context.Context, f events.Function, taken events.Claim) *claim {
	c := &claim{Claim: taken, bus: b, began: time.Now(), labels: []attribute.KeyValue{attribute.String("function", string(f))}}
	if job, err := taken.Job(); err == nil {
		c.labels = append(c.labels, pipelineKey(job.Pipeline))
	}
	b.t.consumed(ctx, jobTemplate)
	again := attribute.Bool("again", taken.Attempt().Number > 1)
	b.t.add(ctx, func(m *meters) metric.Int64Counter { return m.attempts }, 1, append(c.labels, again)...)
	return c
}

// leaveTime is how long work may take to return once its ctx has ended.
const leaveTime = 5 * time.Minute

// KeepAlive implements events.Claim. Work that doesn't return in time after its ctx has ended
// counts as hanging.
func (c *claim) KeepAlive(ctx context.Context, work func(context.Context) error) error {
	c.held = c.Claim.KeepAlive(ctx, func(ctx context.Context) error {
		returned := make(chan struct{})
		defer close(returned)
		defer context.AfterFunc(ctx, func() {
			ended := c.bus.t.loops.begin("the execution of a job that must stop", leaveTime)
			<-returned
			ended()
		})()
		return work(ctx)
	})
	if errors.Is(c.held, events.ErrLeaseLost) {
		c.bus.t.add(ctx, func(m *meters) metric.Int64Counter { return m.leaseLosses }, 1, c.labels...)
		c.over(ctx, "lost", "")
	}
	return c.held
}

// Ack implements events.Claim.
func (c *claim) Ack(ctx context.Context) error {
	outcome := "done"
	if _, cancelled := events.AsKind(c.held, events.FailureCancelled); cancelled {
		outcome = "cancelled"
	}
	return c.settle(ctx, "ack", outcome, "", func() error { return c.Claim.Ack(ctx) })
}

// Nak implements events.Claim.
func (c *claim) Nak(ctx context.Context, delay time.Duration, cause events.FailureKind, why string) error {
	outcome, kind := "later", cause
	if _, waits := errors.AsType[Waiting](c.held); waits {
		outcome, kind = "waits", ""
	}
	return c.settle(ctx, "nak", outcome, kind, func() error { return c.Claim.Nak(ctx, delay, cause, why) })
}

// Term implements events.Claim.
func (c *claim) Term(ctx context.Context, reason events.DeadReason) error {
	return c.settle(ctx, "term", "failed", reason.Kind, func() error { return c.Claim.Term(ctx, reason) })
}

func (c *claim) settle(ctx context.Context, operation, outcome string, kind events.FailureKind, do func() error) error {
	began := time.Now()
	err := do()
	c.bus.t.operated(ctx, operation, jobTemplate, began, err)
	if err == nil {
		c.over(ctx, outcome, kind)
	}
	return err
}

// over counts the end of the attempt.
func (c *claim) over(ctx context.Context, outcome string, kind events.FailureKind) {
	c.bus.forget(c.Attempt().ID)
	all := append(c.labels, attribute.String("outcome", outcome))
	if kind != "" {
		all = append(all, attribute.String("kind", string(kind)))
	}
	c.bus.t.add(ctx, func(m *meters) metric.Int64Counter { return m.jobs }, 1, all...)
	c.bus.t.took(ctx, func(m *meters) metric.Float64Histogram { return m.jobDuration }, c.began, append(c.labels, attribute.String("outcome", outcome))...)
}
