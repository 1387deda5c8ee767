package main

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/stoker-ml/stoker/events"
	"github.com/stoker-ml/stoker/events/jetstream"
	"github.com/stoker-ml/stoker/functions/stoker/exit"
	"github.com/stoker-ml/stoker/storage"
	"github.com/stoker-ml/stoker/storage/s3"
)

// link is a connection to both halves of one Stoker.
type link struct {
	box   *jetstream.Letterbox
	store storage.Store
	root  storage.Ref
}

// withBus connects to the bus alone for as long as do runs.
func (a *app) withBus(ctx context.Context, do func(context.Context, events.Letterbox) error) error {
	return a.withBox(ctx, func(ctx context.Context, box *jetstream.Letterbox) error { return do(ctx, box) })
}

// withBox is withBus for who asks JetStream itself.
func (a *app) withBox(ctx context.Context, do func(context.Context, *jetstream.Letterbox) error) error {
	at, err := a.target()
	if err != nil {
		return err
	}
	if at.bus.Selected && !at.isLocal {
		fmt.Fprintf(a.notes(), "bus %s (%s)\n", at.busName(), at.bus.From)
	}
	box, err := jetstream.Connect(ctx, at.bus.URL, at.busOptions(a.logger()))
	if err != nil {
		return at.away(a, err)
	}
	defer box.Close()
	return do(ctx, box)
}

// withStore opens the store alone for as long as do runs. root is where artifacts go.
func (a *app) withStore(ctx context.Context, do func(ctx context.Context, store storage.Store, root storage.Ref) error) error {
	at, err := a.storeTarget()
	if err != nil {
		return err
	}
	config, err := at.store()
	if err != nil {
		return exit.Usage(err)
	}
	store, err := s3.Open(ctx, config)
	if err != nil {
		return exit.Unreachable(fmt.Errorf("object store: %w", err))
	}
	defer store.Close()
	return withStoreHint(do(ctx, store, at.root))
}

// withLink connects to both for as long as do runs.
func (a *app) withLink(ctx context.Context, do func(context.Context, link) error) error {
	return a.withStore(ctx, func(ctx context.Context, store storage.Store, root storage.Ref) error {
		return a.withBox(ctx, func(ctx context.Context, box *jetstream.Letterbox) error {
			return do(ctx, link{box: box, store: store, root: root})
		})
	})
}

// sayStarted tells who started something that stays which bus it serves, and how.
func (a *app) sayStarted(what string, how ...string) {
	if at, err := a.target(); err == nil {
		fmt.Fprintf(a.notes(), "stoker %s: %s\n", what, strings.Join(append([]string{"bus " + at.busName()}, how...), ", "))
	}
}

// away is the error for a bus that does not answer, or refuses, with what may help.
func (t target) away(a *app, err error) error {
	switch {
	case t.isLocal:
		err = fmt.Errorf("%w: no stack answers where the data folder says; start `%s`", err, a.command("up"))
	case isUntrusted(err):
		err = fmt.Errorf("%w: --nats-ca FILE names the certificates to trust", err)
	case errors.Is(err, events.ErrRefused):
		err = fmt.Errorf("%w: `stoker config` shows who asks", err)
	default:
		err = fmt.Errorf("%w: is %s right? `stoker config` shows who says so", err, t.busName())
	}
	return exit.Unreachable(fmt.Errorf("bus: %w", err))
}
