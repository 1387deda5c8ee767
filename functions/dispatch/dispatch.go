package dispatch

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"runtime/debug"
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

	// Concurrency is how many events are handled at once, those of one run one after another. New sets DefaultConcurrency; another
	// value is set before Run.
	Concurrency int

	Telemetry *telemetry.Telemetry // is told of facts; nil: nothing is. Set before Run

	box       events.Letterbox
	pipelines events.Register
	joins     events.Register
	gates     events.Register
	log       *slog.Logger
	inTurn    keyedMutex // of runs and of gates
	reads     sharedReads
	decoded   decodedPipelines
	spanCache spanCache
	rechecked rechecked
}

// DefaultConcurrency is how many events a dispatcher handles at once: each waits for some ten answers of the bus, one after another.
const DefaultConcurrency = 8

// New opens the registers a dispatcher needs. log may be nil.
func New(ctx context.Context, box events.Letterbox, log *slog.Logger) (*Dispatcher, error) {
	if log == nil {
		log = slog.New(slog.DiscardHandler)
	}
	d := &Dispatcher{SweepEvery: time.Minute, Concurrency: DefaultConcurrency, box: box, log: log}
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

// Run handles events as they come, Concurrency of them at once, and sweeps now and then, until ctx ends, and returns nil then. It returns an error when the
// letterbox is closed for good.
func (d *Dispatcher) Run(ctx context.Context) error {
	running, ctx := errgroup.WithContext(ctx)
	for range max(d.Concurrency, 1) {
		running.Go(func() error { return d.follow(ctx) })
	}
	running.Go(func() error { return d.sweeps(ctx) })
	return running.Wait()
}

// follow handles events until ctx ends. It pauses while the bus delivers none: an event that can't be handled is handed back to the bus,
// which delivers the others meanwhile. One that can't be handled because the bus did not answer may be the only such event: it pauses for
// a millisecond then, and for longer if the next ones fail like this too.
func (d *Dispatcher) follow(ctx context.Context) error {
	var pause events.Pause
	for ctx.Err() == nil {
		err := d.Next(ctx, followWait)
		back, delayed := errors.AsType[handedBack](err)
		switch {
		case delayed && back.away:
			_ = pause.Wait(ctx) // longer with each in a row
			continue
		case err == nil, delayed, errors.Is(err, events.ErrEmpty), ctx.Err() != nil:
			pause = events.Pause{}
			continue
		case errors.Is(err, events.ErrClosed):
			return err
		}
		d.log.WarnContext(ctx, "events are not followed; trying again", "error", err)
		sleep(ctx, retryDelay)
	}
	return nil
}

// handedBack is the error of an event that is to be delivered again.
type handedBack struct {
	error
	away bool // the bus did not answer
}

func (h handedBack) Unwrap() error { return h.error }

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
	err = d.handleSafely(ctx, delivery.Recorded())
	handled := err
	defer span.End(&handled)
	if failure, refused := events.AsKind(err, events.FailureInput); refused {
		if err = d.refuse(ctx, delivery, failure); err == nil {
			return nil
		}
	}
	if err != nil {
		return d.handBack(ctx, delivery, err)
	}
	return delivery.Done(ctx)
}

// handleSafely recovers from a defect of ours that one event meets: the others are handled still.
func (d *Dispatcher) handleSafely(ctx context.Context, recorded events.Recorded) (err error) {
	defer func() {
		if p := recover(); p != nil {
			err = fmt.Errorf("panic: %v\n%s", p, debug.Stack())
		}
	}()
	return d.Handle(ctx, recorded)
}

// handBack returns an event to the bus that could not be handled. While the bus does not answer, each is tried again soon. An event that a
// stopping dispatcher was handling is free for others at once.
func (d *Dispatcher) handBack(ctx context.Context, delivery events.Delivery, why error) error {
	recorded := delivery.Recorded()
	if ctx.Err() != nil {
		d.log.InfoContext(ctx, "event handed back: this dispatcher stops", "sequence", recorded.Message.Sequence, "subject", recorded.Message.Subject)
		ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), settleTime)
		defer cancel()
		return errors.Join(why, delivery.Later(ctx, 0))
	}
	away := errors.Is(why, events.ErrUnavailable)
	delay := events.RedeliveryDelay(delivery.Deliveries())
	if away {
		delay = events.RedeliveryDelayAway(delivery.Deliveries())
	}
	d.log.WarnContext(ctx, "event not handled; it will be delivered again", "sequence", recorded.Message.Sequence,
		"subject", recorded.Message.Subject, "deliveries", delivery.Deliveries(), "again_in", delay, "error", why)
	if err := delivery.Later(ctx, delay); err != nil {
		return errors.Join(why, err)
	}
	return handedBack{why, away}
}

// settleTime bounds handing back an event when the dispatcher itself is stopping.
const settleTime = 5 * time.Second
