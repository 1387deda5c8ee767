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

// reader is the name under which dispatchers share their place in the log of facts.
const reader = "dispatch"

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

// Run handles one fact after another until ctx ends, and returns nil then. It returns an error when the letterbox is closed
// for good.
func (d *Dispatcher) Run(ctx context.Context) error {
	for ctx.Err() == nil {
		err := d.Next(ctx, followWait)
		if errors.Is(err, events.ErrClosed) {
			return err
		}
		if err != nil && !errors.Is(err, events.ErrEmpty) && ctx.Err() == nil {
			d.log.Warn("fact not handled; it will be delivered again", "error", err)
			select {
			case <-ctx.Done():
			case <-time.After(retryDelay):
			}
		}
	}
	return nil
}

// Next handles the next fact, waiting up to wait for one; then events.ErrEmpty.
func (d *Dispatcher) Next(ctx context.Context, wait time.Duration) error {
	delivery, err := d.box.Follow(ctx, reader, wait)
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
	if err := refuseInline(recorded.Fact.Data); err != nil {
		return err
	}
	current, err := d.pipeline(ctx, recorded.Fact.Pipeline)
	if err != nil {
		return err
	}
	join, err := d.join(ctx, recorded.Fact, pinned, current)
	if err != nil || join.State == plan.Waiting {
		return err
	}
	if !join.Has(pinned) {
		d.log.Info("fact changes nothing: its run had all it waited for", "pipeline", join.Pipeline, "run", join.Run, "fact", pinned.ID)
	}
	return d.offer(ctx, join, current)
}

// deployed is a pipeline and the revision it is at.
type deployed struct {
	spec     pipeline.Pipeline
	revision uint64
}

// pipeline reads the deployed pipeline. One that isn't there makes the fact a dead letter: its publisher may have mistyped
// the name, or be ahead of those who deploy.
func (d *Dispatcher) pipeline(ctx context.Context, name string) (deployed, error) {
	entry, err := d.pipelines.Get(ctx, name)
	if errors.Is(err, events.ErrNotFound) {
		invalid := &events.Invalid{Field: "subject", Expected: "the name of an applied pipeline", Got: name}
		return deployed{}, events.Fail(events.FailureInput, invalid)
	}
	if err != nil {
		return deployed{}, fmt.Errorf("read pipeline %s: %w", name, err)
	}
	spec, err := pipeline.FromJSON(entry.Value)
	if err != nil {
		return deployed{}, events.Fail(events.FailureInput, fmt.Errorf("pipeline %s, revision %d: %w", name, entry.Revision, err))
	}
	return deployed{spec, entry.Revision}, nil
}
