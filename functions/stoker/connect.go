package main

import (
	"context"
	"fmt"
	"strings"

	"github.com/stoker-ml/stoker/events"
	"github.com/stoker-ml/stoker/events/jetstream"
	"github.com/stoker-ml/stoker/functions/settings"
	"github.com/stoker-ml/stoker/functions/stoker/exit"
	"github.com/stoker-ml/stoker/functions/stoker/target"
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
	if at.Bus.Selected && !at.IsLocal {
		fmt.Fprintf(a.notes(), "bus %s (%s)\n", at.BusName(), at.Bus.From)
	}
	box, err := jetstream.Connect(ctx, at.Bus.URL, at.BusOptions(a.logger()))
	if err != nil {
		return at.Away(err)
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
	config, err := at.Store()
	if err != nil {
		return exit.Usage(err)
	}
	store, err := s3.Open(ctx, config)
	if err != nil {
		return exit.Unreachable(fmt.Errorf("object store: %w", err))
	}
	defer store.Close()
	if err := store.Trusted(ctx); err != nil {
		return target.WithStoreHelp(fmt.Errorf("object store %s: %w", config.Endpoint, err))
	}
	return target.WithStoreHelp(do(ctx, store, at.Root))
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
		fmt.Fprintf(a.notes(), "stoker %s: %s\n", what, strings.Join(append([]string{"bus " + at.BusName()}, how...), ", "))
	}
}

// target is the Stoker that is meant.
func (a *app) target() (target.Target, error) {
	found, err := a.settings()
	if err != nil {
		return target.Target{}, err
	}
	return target.Find(a.targets(found))
}

// storeTarget is target for those who need the store alone.
func (a *app) storeTarget() (target.Target, error) {
	found, err := a.settings()
	if err != nil {
		return target.Target{}, err
	}
	return target.FindStore(a.targets(found))
}

func (a *app) targets(found *settings.Settings) target.Sources {
	return target.Sources{Settings: found, DataDir: a.dataDir, Up: a.command("up")}
}
