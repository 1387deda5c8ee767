// Package dispatch joins the events of the log by pipeline and run, and puts the jobs that follow
// on the queue. functions/dispatch/join decides which jobs follow from which events; this package
// has the effects.
//
// A run is a list of stages: the search for hyperparameters, if its pipeline tunes, then the
// training. Both go the same way, from an event to a job, in the order of the code:
//
//	Next                   takes an event off the log (handle.go)
//	  Handle               has its effects
//	    add                reads the run's join once, adds the event, and compares and swaps
//	      decide           the new state of the run, by its events in log order (join.Decide)
//	        pin            fixes the inputs of the job of a due stage, which is now complete
//	    advance            does what the run's state requires; Sweep begins here
//	      admit            continues if the pipeline has no limit; else (admission.go)
//	        settle         changes the admission (admitted, waiting, superseded runs)
//	          serve        ends the superseded runs, and dispatches the admitted ones
//	      dispatch         gives the stage its job (enqueue.go)
//	        job            makes it, from what is pinned
//	        mark           names it in the join by compare-and-swap, unless the run has ended
//	        enqueue        puts it on the queue
//	  Ack                  acknowledges the event
//
// The result of a search is an event of the run like any other; the run keeps its position in the
// admission until it is trained. Handle passes an event with the outcome of a training to conclude,
// which records it and releases the run's position. A run that will have no training ends by
// compare-and-swap, then an event says so, then the join is marked announced (conclude.go).
//
// Any number of dispatchers may run, and any of them may die between two effects: the next
// dispatcher that finds unfinished work, because the event is delivered again or through a sweep
// over the joins (sweep.go), completes it. Joins that the bus has lost are rebuilt from the log
// (repair.go).
//
// A run depends on two revisions of its pipeline. The one that is deployed now (deployed, current)
// determines what a run waits for and for how long, which events it uses, and how many runs are
// admitted. The revision that a stage has pinned (pinned) is what its job is made from, whatever
// was applied since.
//
// Read Dispatcher first, then handle.go.
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

// Reader is the name of the consumer that all dispatchers share.
const Reader = "dispatch"

// Dispatcher turns events into jobs.
type Dispatcher struct {
	// SweepEvery is the time between two sweeps, those of other dispatchers included. New sets a
	// minute; another value is set before Run.
	SweepEvery time.Duration

	// Concurrency is how many events are handled at once, those of one run one after another. New
	// sets DefaultConcurrency; another value is set before Run.
	Concurrency int

	Telemetry *telemetry.Telemetry // records a span for each event; may be nil. Set before Run

	bus        events.Bus
	pipelines  events.KV
	joins      events.KV
	admissions events.KV
	log        *slog.Logger
	inTurn     keyedMutex // of runs and of admissions
	reads      sharedReads
	decoded    decodedPipelines
	spanCache  spanCache
	rechecked  rechecked
}

// DefaultConcurrency is how many events a dispatcher handles at once: each waits for some ten
// answers of the bus, one after another.
const DefaultConcurrency = 8

// New opens the buckets that a dispatcher needs. log may be nil.
func New(ctx context.Context, bus events.Bus, log *slog.Logger) (*Dispatcher, error) {
	if log == nil {
		log = slog.New(slog.DiscardHandler)
	}
	d := &Dispatcher{SweepEvery: time.Minute, Concurrency: DefaultConcurrency, bus: bus, log: log}
	var err error
	if d.pipelines, err = bus.KV(ctx, events.KVPipelines); err != nil {
		return nil, fmt.Errorf("open pipelines: %w", err)
	}
	if d.joins, err = bus.KV(ctx, events.KVJoins); err != nil {
		return nil, fmt.Errorf("open joins: %w", err)
	}
	if d.admissions, err = bus.KV(ctx, events.KVGates); err != nil {
		return nil, fmt.Errorf("open admissions: %w", err)
	}
	return d, nil
}

const (
	followWait = 5 * time.Second // how long one request for an event waits
	retryDelay = time.Second     // after an error of the bus or the store
)

// Run handles events as they arrive, Concurrency of them at once, and sweeps at intervals, until
// ctx ends; it then returns nil. It returns an error when the bus is closed for good.
func (d *Dispatcher) Run(ctx context.Context) error {
	running, ctx := errgroup.WithContext(ctx)
	for range max(d.Concurrency, 1) {
		running.Go(func() error { return d.follow(ctx) })
	}
	running.Go(func() error { return d.sweeps(ctx) })
	return running.Wait()
}

// follow handles events until ctx ends. It pauses while the bus delivers none: an event that can't
// be handled is handed back to the bus, which delivers the others meanwhile. If the reason is that
// the bus did not answer, follow pauses for a millisecond, because this may be the only such event,
// and for longer if the next events fail in the same way.
func (d *Dispatcher) follow(ctx context.Context) error {
	var pause events.Pause
	for ctx.Err() == nil {
		err := d.Next(ctx, followWait)
		back, delayed := errors.AsType[handedBack](err)
		switch {
		case delayed && back.away:
			_ = pause.Wait(ctx) // longer after each failure in a row
			continue
		case err == nil, delayed, errors.Is(err, events.ErrEmpty), ctx.Err() != nil:
			pause = events.Pause{}
			continue
		case errors.Is(err, events.ErrClosed):
			return err
		}
		d.log.WarnContext(ctx, "events not followed; retrying", "error", err)
		sleep(ctx, retryDelay)
	}
	return nil
}

// handedBack is the error with an event that is to be delivered again.
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

// handBack returns an event that could not be handled to the bus. While the bus does not answer,
// each event is retried soon. An event that a stopping dispatcher was handling is delivered to
// another at once.
func (d *Dispatcher) handBack(ctx context.Context, delivery events.EventDelivery, why error) error {
	recorded := delivery.Recorded()
	if ctx.Err() != nil {
		d.log.InfoContext(ctx, "event handed back: this dispatcher is stopping", "sequence", recorded.Message.Sequence, "subject", recorded.Message.Subject)
		ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), settleTime)
		defer cancel()
		return errors.Join(why, delivery.Nak(ctx, 0))
	}
	away := errors.Is(why, events.ErrUnavailable)
	delay := events.RedeliveryDelay(delivery.Deliveries())
	if away {
		delay = events.RedeliveryDelayAway(delivery.Deliveries())
	}
	d.log.WarnContext(ctx, "event not handled; it will be delivered again", "sequence", recorded.Message.Sequence,
		"subject", recorded.Message.Subject, "deliveries", delivery.Deliveries(), "again_in", delay, "error", why)
	if err := delivery.Nak(ctx, delay); err != nil {
		return errors.Join(why, err)
	}
	return handedBack{why, away}
}

// refuse ends an event that can never start a run: it publishes the dead letter, then an event if a
// run is known, then terminates the delivery.
func (d *Dispatcher) refuse(ctx context.Context, delivery events.EventDelivery, failure *events.Failure) error {
	recorded := delivery.Recorded()
	reason := failure.Reason()
	d.log.ErrorContext(ctx, "event refused", "sequence", recorded.Message.Sequence, "subject", recorded.Message.Subject, "error", failure)
	if err := d.bus.DeadLetter(ctx, events.DeadLetter{Message: recorded.Message, Reason: reason}); err != nil {
		return fmt.Errorf("dead-letter event %d: %w", recorded.Message.Sequence, err)
	}
	if recorded.Err == nil {
		if err := d.publish(ctx, events.NewEventRefused(recorded, failure)); err != nil {
			return fmt.Errorf("publish refusal of event %d: %w", recorded.Message.Sequence, err)
		}
	}
	return delivery.Term(ctx, reason)
}

// settleTime limits how long a stopping dispatcher takes to hand back an event.
const settleTime = 5 * time.Second
