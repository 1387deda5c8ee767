package main

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/stoker-ml/stoker/events"
	"github.com/stoker-ml/stoker/events/jetstream"
	"github.com/stoker-ml/stoker/local"
	"github.com/stoker-ml/stoker/storage"
	"github.com/stoker-ml/stoker/storage/s3"
)

// link is a connection to both halves of one Stoker.
type link struct {
	box   events.Letterbox
	store storage.Store
	root  storage.Ref
}

// target says where one Stoker is. Nothing is asked for before a command needs it: who reads the log needs no key of the
// store.
type target struct {
	nats  natsFlags
	store func() (s3.Config, error)
	root  storage.Ref

	isLocal bool // found through the data folder
}

// busName is where the bus is, without credentials.
func (t target) busName() string {
	servers := strings.Split(t.nats.url, ",")
	for i, server := range servers {
		if at := strings.LastIndex(server, "@"); at >= 0 {
			scheme, _, _ := strings.Cut(server, "://")
			servers[i] = scheme + "://" + server[at+1:]
		}
	}
	return strings.Join(servers, ",")
}

// away is the error for a bus or a store that does not answer. A stack that was killed leaves its address in the data folder.
func (t target) away(a *app, what string, err error) error {
	if t.isLocal {
		err = fmt.Errorf("%w: no stack answers where the data folder says; start `%s`", err, a.command("up"))
	}
	return unreachable(fmt.Errorf("%s: %w", what, err))
}

// target finds the servers that flags or environment name, else the local stack, which also says where its artifacts go.
func (a *app) target() (target, error) {
	root, err := storage.ParseRef(a.root)
	if err != nil {
		return target{}, usage(fmt.Errorf("--root: %w", err))
	}
	if a.nats.url != "" {
		return target{nats: a.nats, store: s3.FromEnv, root: root}, nil
	}
	connection, err := local.ReadConnection(a.dataDir)
	if errors.Is(err, local.ErrNotRunning) {
		return target{}, unreachable(fmt.Errorf("%w: start `%s`, or name a server with --nats", err, a.command("up")))
	}
	if err != nil {
		return target{}, err
	}
	store := func() (s3.Config, error) { return connection.Store(), nil }
	root, err = storage.ParseRef(connection.Root)
	return target{nats: natsFlags{url: connection.NATS}, store: store, root: root, isLocal: true}, err
}

// withBus connects to the bus alone for as long as do runs.
func (a *app) withBus(ctx context.Context, do func(context.Context, events.Letterbox) error) error {
	at, err := a.target()
	if err != nil {
		return err
	}
	options := jetstream.Options{Creds: at.nats.creds, NKey: at.nats.nkey, RootCA: at.nats.ca, Logger: a.logger()}
	box, err := jetstream.Connect(ctx, at.nats.url, options)
	if err != nil {
		return at.away(a, "bus", err)
	}
	defer box.Close()
	return do(ctx, box)
}

// withStore opens the store alone for as long as do runs. root is where artifacts go.
func (a *app) withStore(ctx context.Context, do func(ctx context.Context, store storage.Store, root storage.Ref) error) error {
	at, err := a.target()
	if err != nil {
		return err
	}
	config, err := at.store()
	if err != nil {
		return err
	}
	store, err := s3.Open(ctx, config)
	if err != nil {
		return unreachable(fmt.Errorf("object store: %w", err))
	}
	defer store.Close()
	return do(ctx, store, at.root)
}

// withLink connects to both for as long as do runs.
func (a *app) withLink(ctx context.Context, do func(context.Context, link) error) error {
	return a.withStore(ctx, func(ctx context.Context, store storage.Store, root storage.Ref) error {
		return a.withBus(ctx, func(ctx context.Context, box events.Letterbox) error {
			return do(ctx, link{box: box, store: store, root: root})
		})
	})
}

// sayStarted tells who started something that stays which bus it serves, and how.
func (a *app) sayStarted(what string, how ...string) {
	if at, err := a.target(); err == nil {
		fmt.Fprintf(a.stderr, "stoker %s: %s\n", what, strings.Join(append([]string{"bus " + at.busName()}, how...), ", "))
	}
}
