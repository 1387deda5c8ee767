package telemetry

import (
	"context"
	"errors"
	"time"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/metric"
)

// meters are the instruments. A nil *meters counts nothing.
type meters struct {
	meter metric.Meter

	// Of the messaging conventions.
	sent, consumed     metric.Int64Counter
	operation, process metric.Float64Histogram

	// Stoker's own.
	attempts, jobs, leaseLosses, dead, models, hyperparameters, steps, trials, checkpoints, checkpointBytes metric.Int64Counter
	jobDuration                                                                                             metric.Float64Histogram
}

// The bucket boundaries of histograms, in seconds: those of the conventions, and those of jobs,
// which may take hours.
var (
	callBounds = []float64{0.005, 0.01, 0.025, 0.05, 0.075, 0.1, 0.25, 0.5, 0.75, 1, 2.5, 5, 7.5, 10}
	jobBounds  = []float64{0.1, 0.5, 1, 5, 15, 60, 300, 900, 3600, 4 * 3600, 12 * 3600, 24 * 3600}
)

func newMeters(m metric.Meter) (*meters, error) {
	var errs []error
	count := func(name, unit, says string) metric.Int64Counter {
		counter, err := m.Int64Counter(name, metric.WithUnit(unit), metric.WithDescription(says))
		errs = append(errs, err)
		return counter
	}
	time := func(name, says string, bounds []float64) metric.Float64Histogram {
		histogram, err := m.Float64Histogram(name, metric.WithUnit("s"), metric.WithDescription(says), metric.WithExplicitBucketBoundaries(bounds...))
		errs = append(errs, err)
		return histogram
	}
	all := &meters{
		meter:     m,
		sent:      count("messaging.client.sent.messages", "{message}", "Messages sent to the bus, including failed attempts"),
		consumed:  count("messaging.client.consumed.messages", "{message}", "Messages that the bus delivered"),
		operation: time("messaging.client.operation.duration", "Time to send or settle a message", callBounds),
		process:   time("messaging.process.duration", "Time to process a message", jobBounds),

		attempts:    count("stoker.job.attempts", "{attempt}", "Attempts at jobs that have started"),
		jobs:        count("stoker.jobs", "{job}", "Attempts at jobs that have ended, by outcome"),
		jobDuration: time("stoker.job.duration", "Time from the claim of a job to the end of the attempt", jobBounds),
		leaseLosses: count("stoker.lease.losses", "{lease}", "Leases lost while their job was running"),
		dead:        count("stoker.dead_letters", "{message}", "Messages that were dead-lettered"),

		models:          count("stoker.models", "{model}", "Models published, by whether they were trained or reused"),
		hyperparameters: count("stoker.hyperparameters", "{search}", "Hyperparameters published, by whether they were searched for or reused"),
		steps:           count("stoker.training.steps", "{step}", "Training steps that modules reported"),
		trials:          count("stoker.trials", "{trial}", "Trials of studies that have ended, by status"),
		checkpoints:     count("stoker.checkpoints", "{checkpoint}", "Checkpoints uploaded to the store"),
		checkpointBytes: count("stoker.checkpoint.size", "By", "Bytes of checkpoints uploaded to the store"),
	}
	return all, errors.Join(errs...)
}

// add adds to a counter if metrics are collected.
func (t *Telemetry) add(ctx context.Context, which func(*meters) metric.Int64Counter, n int64, labels ...attribute.KeyValue) {
	if t != nil && t.meters != nil {
		which(t.meters).Add(ctx, n, metric.WithAttributes(labels...))
	}
}

// took records a duration if metrics are collected.
func (t *Telemetry) took(ctx context.Context, which func(*meters) metric.Float64Histogram, since time.Time, labels ...attribute.KeyValue) {
	if t != nil && t.meters != nil {
		which(t.meters).Record(ctx, time.Since(since).Seconds(), metric.WithAttributes(labels...))
	}
}

// Trial counts a trial that has ended.
func (t *Telemetry) Trial(ctx context.Context, pipeline, status string) {
	t.add(ctx, func(m *meters) metric.Int64Counter { return m.trials }, 1, pipelineKey(pipeline), attribute.String("status", status))
}

// Checkpoint counts a checkpoint that is in the store.
func (t *Telemetry) Checkpoint(ctx context.Context, pipeline string, bytes int64) {
	t.add(ctx, func(m *meters) metric.Int64Counter { return m.checkpoints }, 1, pipelineKey(pipeline))
	t.add(ctx, func(m *meters) metric.Int64Counter { return m.checkpointBytes }, bytes, pipelineKey(pipeline))
}

func pipelineKey(name string) attribute.KeyValue { return attribute.String("pipeline", name) }

// lagTime limits how long a scrape waits for the bus.
const lagTime = 2 * time.Second

// Queue is the state of a durable consumer.
type Queue struct {
	Stream, Consumer string
	Waiting, Running uint64 // not delivered yet; delivered and not settled
	Redelivered      uint64 // those in progress that were delivered more than once
}

// Queues reads the lag of queues with ask whenever metrics are collected. A lag that can't be read
// is left out.
func (t *Telemetry) Queues(ask func(context.Context) ([]Queue, error)) error {
	if t == nil || t.meters == nil {
		return nil
	}
	waiting, err := t.meters.meter.Int64ObservableGauge("stoker.queue.lag", metric.WithUnit("{message}"),
		metric.WithDescription("Messages not delivered to a worker or dispatcher yet"))
	running, err2 := t.meters.meter.Int64ObservableGauge("stoker.queue.running", metric.WithUnit("{message}"),
		metric.WithDescription("Messages delivered and not settled"))
	redelivered, err3 := t.meters.meter.Int64ObservableGauge("stoker.queue.redelivered", metric.WithUnit("{message}"),
		metric.WithDescription("Messages delivered more than once and not settled"))
	if err := errors.Join(err, err2, err3); err != nil {
		return err
	}
	_, err = t.meters.meter.RegisterCallback(func(ctx context.Context, o metric.Observer) error {
		ctx, cancel := context.WithTimeout(ctx, lagTime)
		defer cancel()
		queues, err := ask(ctx)
		for _, q := range queues {
			labels := metric.WithAttributes(attribute.String("stream", q.Stream), attribute.String("consumer", q.Consumer))
			o.ObserveInt64(waiting, int64(q.Waiting), labels)
			o.ObserveInt64(running, int64(q.Running), labels)
			o.ObserveInt64(redelivered, int64(q.Redelivered), labels)
		}
		if err != nil {
			t.log.Warn("queue lag not known", "error", err)
		}
		return nil
	}, waiting, running, redelivered)
	return err
}

// Serving is the number of workers that are alive and claim jobs of a function and a class.
type Serving struct {
	Function, Class string
	Consumer        string // of the queue, as in Queue
	Workers         int
}

// Serving reads with ask which queues are served whenever metrics are collected. A number that
// can't be read is left out: only a queue that is known to have no worker counts as such.
func (t *Telemetry) Serving(ask func(context.Context) ([]Serving, error)) error {
	if t == nil || t.meters == nil {
		return nil
	}
	alive, err := t.meters.meter.Int64ObservableGauge("stoker.workers", metric.WithUnit("{worker}"),
		metric.WithDescription("Workers that are alive and claim jobs of a function and a class"))
	if err != nil {
		return err
	}
	_, err = t.meters.meter.RegisterCallback(func(ctx context.Context, o metric.Observer) error {
		ctx, cancel := context.WithTimeout(ctx, lagTime)
		defer cancel()
		all, err := ask(ctx)
		for _, s := range all {
			o.ObserveInt64(alive, int64(s.Workers), metric.WithAttributes(
				attribute.String("function", s.Function), attribute.String("class", s.Class), attribute.String("consumer", s.Consumer)))
		}
		if err != nil {
			t.log.Warn("number of workers not known", "error", err)
		}
		return nil
	}, alive)
	return err
}
