package dispatch

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"time"

	"github.com/stoker-ml/stoker/events"
	"github.com/stoker-ml/stoker/functions/pipeline"
	"github.com/stoker-ml/stoker/functions/plan"
)

// Reader is the name under which dispatchers share their place in the log of facts.
const Reader = "dispatch"

// Dispatcher turns facts into jobs.
type Dispatcher struct {
	box       events.Letterbox
	pipelines events.Register
	joins     events.Register
	log       *slog.Logger
}

// New opens the registers a dispatcher needs. log may be nil.
func New(ctx context.Context, box events.Letterbox, log *slog.Logger) (*Dispatcher, error) {
	pipelines, err := box.Register(ctx, events.RegisterPipelines)
	if err != nil {
		return nil, fmt.Errorf("open pipelines: %w", err)
	}
	joins, err := box.Register(ctx, events.RegisterJoins)
	if err != nil {
		return nil, fmt.Errorf("open joins: %w", err)
	}
	if log == nil {
		log = slog.New(slog.DiscardHandler)
	}
	return &Dispatcher{box: box, pipelines: pipelines, joins: joins, log: log}, nil
}

const (
	followWait = 5 * time.Second // how long one look at the log may last
	retryDelay = time.Second     // after the bus or the store said no
)

// Run handles one fact after another until ctx ends, and returns nil then.
func (d *Dispatcher) Run(ctx context.Context) error {
	for ctx.Err() == nil {
		err := d.Next(ctx, followWait)
		if err != nil && !errors.Is(err, events.ErrEmpty) && ctx.Err() == nil {
			d.log.Warn("fact not handled; it will be delivered again", "error", err)
			pause(ctx, retryDelay)
		}
	}
	return nil
}

// Next handles the next fact, waiting up to wait for one; then events.ErrEmpty.
func (d *Dispatcher) Next(ctx context.Context, wait time.Duration) error {
	delivery, err := d.box.Follow(ctx, Reader, wait)
	if err != nil {
		return err
	}
	recorded := delivery.Recorded()
	err = d.handle(ctx, recorded)
	if failure, ok := errors.AsType[*events.Failure](err); ok && failure.Kind == events.FailureInput {
		return d.refuse(ctx, delivery, failure)
	}
	if err != nil {
		return errors.Join(err, delivery.Later(ctx, retryDelay))
	}
	return delivery.Done(ctx)
}

// handle brings one fact to its effect. An input failure means that it never will have one.
func (d *Dispatcher) handle(ctx context.Context, recorded events.Recorded) error {
	if recorded.Err != nil {
		return events.Fail(events.FailureInput, recorded.Err)
	}
	pinned, ok := plan.Pin(recorded)
	if !ok {
		return nil // a fact that no run waits for: one of our own
	}
	spec, revision, err := d.pipeline(ctx, recorded.Fact.Pipeline)
	if err != nil {
		return err
	}
	join, err := d.join(ctx, recorded.Fact, pinned, spec, revision)
	if err != nil || join.State == plan.Waiting {
		return err
	}
	return d.offer(ctx, join, spec, revision)
}

// pipeline reads the deployed pipeline. One that isn't there makes the fact a dead letter: the publisher may have
// mistyped it, and `stoker dead` shows it until it is retried.
func (d *Dispatcher) pipeline(ctx context.Context, name string) (pipeline.Pipeline, uint64, error) {
	entry, err := d.pipelines.Get(ctx, name)
	if errors.Is(err, events.ErrNotFound) {
		invalid := &events.Invalid{Field: "subject", Expected: "the name of an applied pipeline", Got: name}
		return pipeline.Pipeline{}, 0, events.Fail(events.FailureInput, invalid)
	}
	if err != nil {
		return pipeline.Pipeline{}, 0, fmt.Errorf("read pipeline %s: %w", name, err)
	}
	spec, err := pipeline.FromJSON(entry.Value)
	if err != nil {
		return pipeline.Pipeline{}, 0, events.Fail(events.FailureInput, fmt.Errorf("pipeline %s, revision %d: %w", name, entry.Revision, err))
	}
	return spec, entry.Revision, nil
}

// pause waits for d or for ctx to end.
func pause(ctx context.Context, d time.Duration) {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-ctx.Done():
	case <-timer.C:
	}
}
