package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"time"

	"github.com/stoker-ml/stoker/events"
	"github.com/stoker-ml/stoker/events/jetstream"
	"github.com/stoker-ml/stoker/local/bucket"
	"github.com/stoker-ml/stoker/local/natsserver"
	"github.com/stoker-ml/stoker/storage"
	"github.com/stoker-ml/stoker/storage/s3"
)

// ownBus is a NATS server in this process, with its streams on file, as each of the parts needs
// that measure no binary. Clients reach it over TCP on loopback.
type ownBus struct{ url string }

// withOwnBus runs a new bus for as long as do runs. With synced, every write reaches the disk
// before it is acknowledged.
func withOwnBus(ctx context.Context, synced bool, lease time.Duration, do func(context.Context, ownBus) error) (err error) {
	dir, err := os.MkdirTemp("", "stoker-bench-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir)
	server, err := natsserver.Start(ctx, natsserver.Options{Dir: dir, SyncAlways: synced})
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, server.Close()) }()
	own := ownBus{url: server.URL()}
	return own.with(ctx, jetstream.Options{Create: true, Lease: lease}, func(events.Bus) error { return do(ctx, own) })
}

// with connects for as long as do runs. Each client has a connection of its own.
func (b ownBus) with(ctx context.Context, opts jetstream.Options, do func(events.Bus) error) (err error) {
	bus, err := jetstream.Connect(ctx, b.url, opts)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, bus.Close()) }()
	return do(bus)
}

// withOwnStore runs a new store for as long as do runs.
func withOwnStore(ctx context.Context, do func(storage.Store) error) (err error) {
	dir, err := os.MkdirTemp("", "stoker-bench-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir)
	server, err := bucket.Start(ctx, bucket.Options{Dir: filepath.Join(dir, "store")})
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, server.Close()) }()
	keys := server.Credentials()
	store, err := s3.Open(ctx, s3.Config{Endpoint: server.Endpoint(), AccessKey: keys.AccessKey, SecretKey: keys.SecretKey})
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, store.Close()) }()
	if err := store.EnsureBucket(ctx, studyBucket); err != nil {
		return err
	}
	return do(store)
}

// benchJob is the work of nobody: the job of a pipeline that is not deployed.
func benchJob(number int) events.Job {
	return events.Job{
		ID: events.DerivedID("bench", fmt.Sprint(number)), Function: events.FunctionTrain, Class: "cpu",
		Pipeline: "bench", Run: fmt.Sprintf("run-%d", number), Spec: []byte(`{}`),
		Causes: []events.Cause{{Kind: events.KindExamplesReady, Source: "/bench", ID: fmt.Sprint(number), Sequence: 1}},
	}
}
