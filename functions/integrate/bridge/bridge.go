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

// Reader is the name under which bridges share their place among the notifications.
const Reader = "bridge"

// DefaultMarker is the name of the object that says that a folder is complete.
const DefaultMarker = "_SUCCESS"

// Options of a Bridge. Zero values are the defaults.
type Options struct {
	Marker   string       // the marker's name, without its folder; default DefaultMarker
	Pipeline string       // of markers that name none; "" refuses those
	Logger   *slog.Logger // nil logs nothing

	// Allow narrows which pipelines markers start, by prefix. Without rules each marker starts the pipeline that it names; with rules a
	// marker that none covers is refused.
	Allow []Rule

	// Checker checks what an event will do before it is published; nil publishes events without effect too.
	Checker *submit.Checker

	Telemetry *telemetry.Telemetry // counts markers; nil: not counted
}

// Bridge turns notifications of a bucket into events. Any number may run.
type Bridge struct {
	bus   Bus
	store storage.Store
	opts  Options
	log   *slog.Logger
}

// Bus is what a bridge needs of an events.Bus.
type Bus interface {
	events.BucketNotifications
	Publish(ctx context.Context, f events.Event) (events.Receipt, error) // of events.Log
}

// New returns a bridge that reads markers in store. It says which option is wrong.
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

// checkMarker refuses a name that no object that is read can have, so that no marker would ever be seen.
func checkMarker(name string) error {
	if strings.Contains(name, "/") {
		return fmt.Errorf("marker %q: expected the name of an object without its folder", name)
	}
	if err := (storage.Ref{Bucket: "any", Key: "folder/" + name}).Validate(); err != nil {
		return fmt.Errorf("marker %q: no object that is read has this name: %w", name, err)
	}
	return nil
}

const (
	followWait = 5 * time.Second // how long one look at the notifications may last
	retryDelay = time.Second     // after the bus or the store said no
)

// Run handles one notification after another until ctx ends, and returns nil then. It returns an error when the bus is
// closed for good. It pauses while the bus delivers none. A notification that can't be handled because bus or store did not answer may be
// the only such notification: Run pauses for a millisecond then, and for longer if the next ones fail like this too.
func (b *Bridge) Run(ctx context.Context) error {
	var pause events.Pause
	for ctx.Err() == nil {
		err := b.Next(ctx, followWait)
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
		b.log.WarnContext(ctx, "notifications are not followed; trying again", "error", err)
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

// Next handles the next notification, waiting up to wait for one; then events.ErrEmpty.
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

// handBack returns a notification to the bus that could not be handled. Others are delivered meanwhile. While bus or store do not answer,
// each is tried again soon. One that a stopping bridge was handling is free for others at once.
func (b *Bridge) handBack(ctx context.Context, delivery events.Delivery, why error) error {
	if ctx.Err() != nil {
		b.log.InfoContext(ctx, "notification handed back: this bridge stops", "sequence", delivery.Message().Sequence)
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

// settleTime bounds handing back a notification when the bridge itself is stopping.
const settleTime = 5 * time.Second

// handle brings one notification to its effect. It may name several objects: one that fails keeps none of the others
// back.
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

// publishUpload publishes the event of one upload, where it is a marker.
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
		return fmt.Errorf("check what the event would do: %w", err)
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

// pass leaves out an upload that is no marker. One whose name could be meant as one is worth a warning.
func (b *Bridge) pass(ctx context.Context, u upload, name string) {
	level := slog.LevelDebug
	if strings.EqualFold(strings.TrimSpace(name), b.opts.Marker) {
		level = slog.LevelWarn
	}
	b.log.Log(ctx, level, "no marker: its name is another", "bucket", u.at.Bucket, "key", u.at.Key, "marker", b.opts.Marker)
}
