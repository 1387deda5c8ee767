package bridge

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"path"
	"strings"
	"time"

	"github.com/stoker-ml/stoker/events"
	"github.com/stoker-ml/stoker/functions/runs/submit"
	"github.com/stoker-ml/stoker/functions/telemetry"
	"github.com/stoker-ml/stoker/storage"
)

// Reader is the name of the consumer that all bridges share.
const Reader = "bridge"

// DefaultMarker is the name of the object that marks a folder as complete.
const DefaultMarker = "_SUCCESS"

// Options are the options of a Bridge. Zero values are the defaults.
type Options struct {
	Marker   string       // the marker's name, without its folder; default DefaultMarker
	Pipeline string       // of markers that name none; "" rejects those
	Logger   *slog.Logger // nil logs nothing

	// Allow restricts which pipelines markers start, by prefix. Without rules each marker starts
	// the pipeline that it names; with rules, a marker that none covers is rejected.
	Allow []Rule

	// Checker predicts the effect of an event before it is published; nil publishes events without
	// effect too.
	Checker *submit.Checker

	Telemetry *telemetry.Telemetry // counts markers; nil: no metrics
}

// Bridge turns notifications of a bucket into events. Any number of bridges may run.
type Bridge struct {
	bus   Bus
	store storage.Store
	opts  Options
	log   *slog.Logger
}

// Bus is the part of events.Bus that a bridge uses.
type Bus interface {
	events.BucketNotifications
	Publish(ctx context.Context, f events.Event) (events.Receipt, error) // of events.Log
}

// New returns a bridge that reads markers in store. The error names the invalid option.
func New(bus Bus, store storage.Store, opts Options) (*Bridge, error) {
	opts.Marker = cmp.Or(opts.Marker, DefaultMarker)
	if err := checkMarker(opts.Marker); err != nil {
		return nil, err
	}
	if opts.Pipeline != "" {
		if err := events.CheckName("pipeline", opts.Pipeline); err != nil {
			return nil, err
		}
	}
	if err := checkRules(opts.Allow); err != nil {
		return nil, err
	}
	log := opts.Logger
	if log == nil {
		log = slog.New(slog.DiscardHandler)
	}
	return &Bridge{bus: bus, store: store, opts: opts, log: log}, nil
}

// checkMarker returns an error for a name that no readable object can have, since no marker would
// ever be found.
func checkMarker(name string) error {
	if strings.Contains(name, "/") {
		return fmt.Errorf("marker %q: expected the name of an object without its folder", name)
	}
	if err := (storage.Ref{Bucket: "any", Key: "folder/" + name}).Validate(); err != nil {
		return fmt.Errorf("marker %q: no object can have this name: %w", name, err)
	}
	return nil
}

const (
	followWait = 5 * time.Second // how long one request for notifications may last
	retryDelay = time.Second     // after an error of the bus or the store
)

// Run handles notifications one at a time until ctx ends, and then returns nil. It returns an error
// when the bus is closed permanently. It pauses while the bus delivers none. If bus or store did
// not answer, Run hands the notification back and pauses for a millisecond, since other
// notifications may succeed, and for longer if the next ones fail in the same way.
func (b *Bridge) Run(ctx context.Context) error {
	var pause events.Pause
	for ctx.Err() == nil {
		err := b.Next(ctx, followWait)
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
		b.log.WarnContext(ctx, "subscription to notifications failed; retrying", "error", err)
		select {
		case <-ctx.Done():
		case <-time.After(retryDelay):
		}
	}
	return nil
}

// handedBack is the error of a notification that is to be delivered again.
type handedBack struct {
	error
	away bool // bus or store did not answer
}

func (h handedBack) Unwrap() error { return h.error }

// Next handles the next notification. It waits up to wait for one, then returns events.ErrEmpty.
func (b *Bridge) Next(ctx context.Context, wait time.Duration) error {
	delivery, err := b.bus.FollowBuckets(ctx, Reader, wait)
	if err != nil {
		return err
	}
	err = b.handle(ctx, delivery.Message())
	if failure, ok := events.AsKind(err, events.FailureInput); ok {
		b.log.ErrorContext(ctx, "notification refused", "sequence", delivery.Message().Sequence, "error", failure)
		return delivery.Term(ctx, failure.Reason())
	}
	if err != nil {
		return b.handBack(ctx, delivery, err)
	}
	return delivery.Ack(ctx)
}

// handBack returns a notification that could not be handled to the bus. Others are delivered
// meanwhile. While bus or store do not answer, it is redelivered soon. A notification of a stopping
// bridge is redelivered at once.
func (b *Bridge) handBack(ctx context.Context, delivery events.Delivery, why error) error {
	if ctx.Err() != nil {
		b.log.InfoContext(ctx, "notification handed back: this bridge is stopping", "sequence", delivery.Message().Sequence)
		ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), settleTime)
		defer cancel()
		return errors.Join(why, delivery.Nak(ctx, 0))
	}
	away := errors.Is(why, events.ErrUnavailable) || errors.Is(why, storage.ErrUnavailable)
	delay := events.RedeliveryDelay(delivery.Deliveries())
	if away {
		delay = events.RedeliveryDelayAway(delivery.Deliveries())
	}
	b.log.WarnContext(ctx, "notification not handled; it will be delivered again", "sequence", delivery.Message().Sequence,
		"deliveries", delivery.Deliveries(), "again_in", delay, "error", why)
	if err := delivery.Nak(ctx, delay); err != nil {
		return errors.Join(why, err)
	}
	return handedBack{why, away}
}

// settleTime is the time limit to hand back a notification when the bridge itself is stopping.
const settleTime = 5 * time.Second

// handle processes one notification. It may name several objects: a failure of one does not prevent
// the others.
func (b *Bridge) handle(ctx context.Context, message events.Message) error {
	uploads, err := parse(message.Body)
	if err != nil {
		return refused(err)
	}
	var never []error
	for _, u := range uploads {
		err := b.publishUpload(ctx, u)
		if failure, ok := errors.AsType[*events.Failure](err); ok {
			never = append(never, fmt.Errorf("marker %s: %w", u.at, failure.Err))
		} else if err != nil {
			return fmt.Errorf("marker %s: %w", u.at, err)
		}
	}
	return refused(errors.Join(never...))
}

// publishUpload publishes the event of one upload, if it is a marker.
func (b *Bridge) publishUpload(ctx context.Context, u upload) (err error) {
	if _, name := path.Split(u.at.Key); name != b.opts.Marker {
		b.pass(ctx, u, name)
		return nil
	}
	event, err := b.event(ctx, u)
	if err != nil {
		return err
	}
	ctx, span := b.opts.Telemetry.Marker(ctx, event)
	defer span.End(&err)
	if _, err := b.opts.Checker.Check(ctx, event, false); err != nil {
		if none, ignored := errors.AsType[*submit.NoEffect](err); ignored {
			return refused(none)
		}
		return fmt.Errorf("check the effect of the event: %w", err)
	}
	receipt, err := b.bus.Publish(ctx, event)
	if errors.Is(err, events.ErrConflict) {
		return refused(err)
	}
	if err != nil {
		return fmt.Errorf("publish: %w", err)
	}
	b.log.InfoContext(ctx, "event published", "kind", event.Data.Kind(), "marker", u.at, "pipeline", event.Pipeline, "run", event.Run, "event", event.ID,
		"sequence", receipt.Sequence, "duplicate", receipt.Duplicate)
	return nil
}

// pass skips an upload that is no marker. It logs a warning if its name was probably meant as one.
func (b *Bridge) pass(ctx context.Context, u upload, name string) {
	level := slog.LevelDebug
	if strings.EqualFold(strings.TrimSpace(name), b.opts.Marker) {
		level = slog.LevelWarn
	}
	b.log.Log(ctx, level, "upload ignored: it is not a marker", "bucket", u.at.Bucket, "key", u.at.Key, "marker", b.opts.Marker)
}
