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

// Target is the location of one Stoker. Credentials are read only when a command needs them: a
// command that reads the log needs no key of the store.
type Target struct {
	Bus     settings.Bus
	Store   func() (storage.Access, error) // access to the store; an error is one of usage
	Root    storage.Ref                    // place of artifacts
	IsLocal bool                           // found through the data folder

	up string // the command that starts a local stack
}

// Sources are where a target is searched for.
type Sources struct {
	Settings *settings.Settings
	DataDir  string // of the local stack
	Up       string // the command that starts one there, as a user types it
}

// BusName returns the address of the bus, without credentials.
func (t Target) BusName() string {
	return settings.Value{Setting: settings.Setting{Key: settings.BusURL}, Text: t.Bus.URL}.Shown()
}

// Find returns the bus and the store: those that are set, else the local stack, which also has the
// place of its artifacts, else the selected context of the nats tool.
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

// FindStore is Find for commands that need only the store: one that is set is found without a bus.
func FindStore(from Sources) (Target, error) {
	if from.storeByFlag() {
		return from.named(settings.Bus{})
	}
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

// storeByFlag reports whether the command line names a store.
func (from Sources) storeByFlag() bool {
	return from.Settings.Value(settings.StoreEndpoint).From == "--s3"
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

// local returns the stack that runs on the data folder.
func (from Sources) local(timeout time.Duration) (Target, error) {
	connection, err := local.ReadConnection(from.DataDir)
	if errors.Is(err, local.ErrNotRunning) {
		return Target{}, exit.Unreachable(fmt.Errorf("%w: start `%s`, or name a server with --nats", err, from.Up))
	}
	if err != nil {
		return Target{}, err
	}
	store := func() (storage.Access, error) {
		if from.storeByFlag() {
			return storage.Access{}, fmt.Errorf("--s3 goes with --nats: the local stack in %s has a store of its own", from.DataDir)
		}
		return connection.Store(), nil
	}
	root, err := storage.ParseRef(connection.Root)
	return Target{Bus: settings.Bus{URL: connection.NATS, From: from.DataDir, Timeout: timeout}, Store: store, Root: root, IsLocal: true, up: from.Up}, err
}

// BusOptions returns the options for a connection to the bus.
func (t Target) BusOptions(log *slog.Logger) jetstream.Options {
	b := t.Bus
	return jetstream.Options{
		User: b.User, Password: b.Password, Token: b.Token, Creds: b.Creds, NKey: b.NKey, JWT: b.CredsText, Seed: b.Seed, KeyText: b.KeyText, RootCA: b.CA, Cert: b.Cert, Key: b.Key,
		TLSFirst: b.TLSFirst, InboxPrefix: b.InboxPrefix, Domain: b.Domain, Timeout: b.Timeout, Logger: log,
	}
}

// storeAccess returns the access to the store.
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
