package dispatch

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/stoker-ml/stoker/events"
	"github.com/stoker-ml/stoker/functions/telemetry"
)

// Reader is the name under which dispatchers share their place in the log of facts.
const Reader = "dispatch"

// Dispatcher turns facts into jobs.
type Dispatcher struct {
	// SweepEvery is the time between two sweeps, those of other dispatchers included. New sets a minute; another value is set before
	// Run.
	SweepEvery time.Duration

	Telemetry *telemetry.Telemetry // is told of facts; nil: nothing is. Set before Run

	box       events.Letterbox
	pipelines events.Register
	joins     events.Register
	gates     events.Register
	log       *slog.Logger
	spanCache spanCache
	rechecked rechecked
}

// New opens the registers a dispatcher needs. log may be nil.
func New(ctx context.Context, box events.Letterbox, log *slog.Logger) (*Dispatcher, error) {
	if log == nil {
		log = slog.New(slog.DiscardHandler)
	}
	d := &Dispatcher{SweepEvery: time.Minute, box: box, log: log}
	var err error
	if d.pipelines, err = box.Register(ctx, events.RegisterPipelines); err != nil {
		return nil, fmt.Errorf("open pipelines: %w", err)
	}
	if d.joins, err = box.Register(ctx, events.RegisterJoins); err != nil {
		return nil, fmt.Errorf("open joins: %w", err)
	}
	if d.gates, err = box.Register(ctx, events.RegisterGates); err != nil {
		return nil, fmt.Errorf("open gates: %w", err)
	}
	return d, nil
}

const (
	followWait = 5 * time.Second // how long one look at the log may last
	retryDelay = time.Second     // after the bus or the store said no
)

// Run handles one fact after another, and sweeps now and then, until ctx ends, and returns nil then. It returns an error when the
// letterbox is closed for good.
func (d *Dispatcher) Run(ctx context.Context) error {
	running, ctx := errgroup.WithContext(ctx)
	running.Go(func() error { return d.follow(ctx) })
	running.Go(func() error { return d.sweeps(ctx) })
	return running.Wait()
}

func (d *Dispatcher) follow(ctx context.Context) error {
	for ctx.Err() == nil {
		err := d.Next(ctx, followWait)
		if errors.Is(err, events.ErrClosed) {
			return err
		}
		if err != nil && !errors.Is(err, events.ErrEmpty) && ctx.Err() == nil {
			d.log.WarnContext(ctx, "fact not handled; it will be delivered again", "error", err)
			sleep(ctx, retryDelay)
		}
	}
	return nil
}

// sleep waits, or returns early when ctx ends.
func sleep(ctx context.Context, length time.Duration) {
	timer := time.NewTimer(length)
	defer timer.Stop()
	select {
	case <-ctx.Done():
	case <-timer.C:
	}
}

// Next handles the next fact, waiting up to wait for one; then events.ErrEmpty.
func (d *Dispatcher) Next(ctx context.Context, wait time.Duration) error {
	delivery, err := d.box.Follow(ctx, Reader, wait)
	if err != nil {
		return err
	}
	ctx, span := d.Telemetry.Fact(ctx, delivery.Recorded())
	err = d.Handle(ctx, delivery.Recorded())
	handled := err
	defer span.End(&handled)
	if failure, refused := events.AsKind(err, events.FailureInput); refused {
		return d.refuse(ctx, delivery, failure)
	}
	if err != nil {
		return errors.Join(err, delivery.Later(ctx, retryDelay))
	}
	return delivery.Done(ctx)
}
