package target

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"time"

	"github.com/stoker-ml/stoker/events/jetstream"
	"github.com/stoker-ml/stoker/functions/settings"
	"github.com/stoker-ml/stoker/functions/stoker/exit"
	"github.com/stoker-ml/stoker/local"
	"github.com/stoker-ml/stoker/storage"
)

// Target says where one Stoker is. Nothing is asked for before a command needs it: a command that reads the log needs no key of the
// store.
type Target struct {
	Bus     settings.Bus
	Store   func() (storage.Access, error) // how the store is reached; an error is wrong usage
	Root    storage.Ref                    // where artifacts go
	IsLocal bool                           // found through the data folder

	up string // what starts a local stack
}

// Sources are where a target is looked for.
type Sources struct {
	Settings *settings.Settings
	DataDir  string // of the local stack
	Up       string // the command that starts one there, as a user types it
}

// BusName is where the bus is, without credentials.
func (t Target) BusName() string {
	return settings.Value{Setting: settings.Setting{Key: settings.BusURL}, Text: t.Bus.URL}.Shown()
}

// Find finds the bus and the store that are meant: those that somebody named, else the local stack, which also says where its artifacts
// go, else the context that the nats tool has selected.
func Find(from Sources) (Target, error) {
	found := from.Settings
	bus, err := found.Bus()
	if err != nil {
		return Target{}, exit.Usage(err)
	}
	named, err := from.named(bus)
	if err == nil && bus.URL != "" {
		err = checkFiles(bus)
	}
	if err != nil || bus.URL != "" && !bus.Selected {
		return named, err
	}
	near, err := from.local(bus.Timeout)
	if bus.Selected && errors.Is(err, local.ErrNotRunning) && found.Value(settings.Data).From == "default" {
		return named, nil
	}
	return near, err
}

// FindStore is Find for those who need the store alone: one that somebody named is found without a bus.
func FindStore(from Sources) (Target, error) {
	at, err := Find(from)
	if err == nil || !errors.Is(err, local.ErrNotRunning) {
		return at, err
	}
	store, storeErr := from.Settings.Store()
	if storeErr != nil {
		return Target{}, exit.Usage(storeErr)
	}
	if !store.Named() {
		return Target{}, err
	}
	return from.named(settings.Bus{})
}

func (from Sources) named(bus settings.Bus) (Target, error) {
	found := from.Settings
	root := found.Value(settings.Root)
	ref, err := storage.ParseRef(root.Text)
	if err != nil {
		return Target{}, exit.Usage(fmt.Errorf("root (%s): %w", root.From, err))
	}
	return Target{Bus: bus, Root: ref, Store: func() (storage.Access, error) {
		store, err := found.Store()
		return storeAccess(store), errors.Join(err, certificates("store.ca", store.CA))
	}}, nil
}

// local is the stack that runs on the data folder.
func (from Sources) local(timeout time.Duration) (Target, error) {
	connection, err := local.ReadConnection(from.DataDir)
	if errors.Is(err, local.ErrNotRunning) {
		return Target{}, exit.Unreachable(fmt.Errorf("%w: start `%s`, or name a server with --nats", err, from.Up))
	}
	if err != nil {
		return Target{}, err
	}
	store := func() (storage.Access, error) { return connection.Store(), nil }
	root, err := storage.ParseRef(connection.Root)
	return Target{Bus: settings.Bus{URL: connection.NATS, From: from.DataDir, Timeout: timeout}, Store: store, Root: root, IsLocal: true, up: from.Up}, err
}

// BusOptions are how the bus is reached.
func (t Target) BusOptions(log *slog.Logger) jetstream.Options {
	b := t.Bus
	return jetstream.Options{
		User: b.User, Password: b.Password, Token: b.Token, Creds: b.Creds, NKey: b.NKey, JWT: b.CredsText, Seed: b.Seed, KeyText: b.KeyText, RootCA: b.CA, Cert: b.Cert, Key: b.Key,
		TLSFirst: b.TLSFirst, InboxPrefix: b.InboxPrefix, Domain: b.Domain, Timeout: b.Timeout, Logger: log,
	}
}

// storeAccess returns how the store is reached.
func storeAccess(s settings.Store) storage.Access {
	access := storage.Access{
		Endpoint: s.Endpoint, Region: s.Region, RootCA: s.CA,
		AccessKey: s.AccessKey, SecretKey: s.SecretKey, SessionToken: s.SessionToken,
	}
	if s.Credentials != nil {
		access.Credentials = func(ctx context.Context) (storage.Credentials, error) {
			keys, err := s.Credentials(ctx)
			return storage.Credentials(keys), err
		}
	}
	return access
}
