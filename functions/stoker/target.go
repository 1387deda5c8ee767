package main

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"log/slog"
	"time"

	"github.com/stoker-ml/stoker/events/jetstream"
	"github.com/stoker-ml/stoker/functions/settings"
	"github.com/stoker-ml/stoker/functions/stoker/exit"
	"github.com/stoker-ml/stoker/local"
	"github.com/stoker-ml/stoker/storage"
	"github.com/stoker-ml/stoker/storage/s3"
)

// target says where one Stoker is. Nothing is asked for before a command needs it: who reads the log needs no key of the
// store.
type target struct {
	bus   settings.Bus
	store func() (s3.Config, error)
	root  storage.Ref

	isLocal bool // found through the data folder
}

// busName is where the bus is, without credentials.
func (t target) busName() string {
	return settings.Value{Setting: settings.Setting{Key: settings.BusURL}, Text: t.bus.URL}.Shown()
}

// target finds the bus and the store that are meant: those that somebody named, else the local stack, which also says where its artifacts
// go, else the context that the nats tool has selected.
func (a *app) target() (target, error) {
	found, err := a.settings()
	if err != nil {
		return target{}, err
	}
	bus, err := found.Bus()
	if err != nil {
		return target{}, exit.Usage(err)
	}
	named, err := a.namedTarget(found, bus)
	if err != nil || bus.URL != "" && !bus.Selected {
		return named, err
	}
	near, err := a.localTarget(bus.Timeout)
	if bus.Selected && errors.Is(err, local.ErrNotRunning) && found.Value(settings.Data).From == "default" {
		return named, nil
	}
	return near, err
}

// storeTarget is target for those who need the store alone: one that somebody named is found without a bus.
func (a *app) storeTarget() (target, error) {
	at, err := a.target()
	if err == nil || !errors.Is(err, local.ErrNotRunning) {
		return at, err
	}
	store, storeErr := a.found.Store()
	if storeErr != nil {
		return target{}, exit.Usage(storeErr)
	}
	if !store.Named() {
		return target{}, err
	}
	return a.namedTarget(a.found, settings.Bus{})
}

func (a *app) namedTarget(found *settings.Settings, bus settings.Bus) (target, error) {
	root := found.Value(settings.Root)
	ref, err := storage.ParseRef(root.Text)
	if err != nil {
		return target{}, exit.Usage(fmt.Errorf("root (%s): %w", root.From, err))
	}
	return target{bus: bus, root: ref, store: func() (s3.Config, error) {
		store, err := found.Store()
		return storeConfig(store), err
	}}, nil
}

// localTarget is the stack that runs on the data folder.
func (a *app) localTarget(timeout time.Duration) (target, error) {
	connection, err := local.ReadConnection(a.dataDir)
	if errors.Is(err, local.ErrNotRunning) {
		return target{}, exit.Unreachable(fmt.Errorf("%w: start `%s`, or name a server with --nats", err, a.command("up")))
	}
	if err != nil {
		return target{}, err
	}
	store := func() (s3.Config, error) { return connection.Store(), nil }
	root, err := storage.ParseRef(connection.Root)
	return target{bus: settings.Bus{URL: connection.NATS, From: a.dataDir, Timeout: timeout}, store: store, root: root, isLocal: true}, err
}

// busOptions are how the bus is reached.
func (t target) busOptions(log *slog.Logger) jetstream.Options {
	b := t.bus
	return jetstream.Options{
		User: b.User, Password: b.Password, Token: b.Token, Creds: b.Creds, NKey: b.NKey, RootCA: b.CA, Cert: b.Cert, Key: b.Key,
		TLSFirst: b.TLSFirst, InboxPrefix: b.InboxPrefix, Domain: b.Domain, Timeout: b.Timeout, Logger: log,
	}
}

// storeConfig is how the store is reached.
func storeConfig(s settings.Store) s3.Config {
	config := s3.Config{
		Endpoint: s.Endpoint, Region: s.Region, RootCA: s.CA,
		AccessKey: s.AccessKey, SecretKey: s.SecretKey, SessionToken: s.SessionToken,
	}
	if s.Credentials != nil {
		config.Credentials = func(ctx context.Context) (s3.Credentials, error) {
			keys, err := s.Credentials(ctx)
			return s3.Credentials(keys), err
		}
	}
	return config
}

// isUntrusted tells a server whose certificate nobody here knows.
func isUntrusted(err error) bool {
	_, ok := errors.AsType[*tls.CertificateVerificationError](err)
	return ok
}

// withStoreHint adds to an error of the store what may help.
func withStoreHint(err error) error {
	if !isUntrusted(err) || exit.Code(err) == exit.Away {
		return err
	}
	return exit.Unreachable(fmt.Errorf("%w: --s3-ca FILE (AWS_CA_BUNDLE) names the certificates to trust", err))
}
