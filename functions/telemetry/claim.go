package telemetry

import (
	"context"
	"errors"
	"time"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/metric"

	"github.com/stoker-ml/stoker/events"
)

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
