package main

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"sync"
	"time"

	"github.com/stoker-ml/stoker/events"
	"github.com/stoker-ml/stoker/events/jetstream"
	"github.com/stoker-ml/stoker/local/bucket"
	"github.com/stoker-ml/stoker/local/natsserver"
	"github.com/stoker-ml/stoker/storage"
	"github.com/stoker-ml/stoker/storage/s3"
)

// ownBus is a NATS server in this process, with its streams on file. Clients reach it over TCP on
// loopback.
type ownBus struct{ url string }

// withOwnBus runs a new bus while do runs. With synced, every write reaches the disk before it is
// acknowledged.
func withOwnBus(ctx context.Context, synced bool, lease time.Duration, do func(ownBus) error) error {
	return inTempDir(func(dir string) error {
		server, err := natsserver.Start(ctx, natsserver.Options{Dir: dir, SyncAlways: synced})
		if err != nil {
			return err
		}
		on := ownBus{url: server.URL()}
		err = on.connect(ctx, jetstream.Options{Create: true, Lease: lease}, func(events.Bus) error { return do(on) })
		return errors.Join(err, server.Close())
	})
}

// connect connects while do runs. Each client has a connection of its own.
func (b ownBus) connect(ctx context.Context, opts jetstream.Options, do func(events.Bus) error) error {
	bus, err := jetstream.Connect(ctx, b.url, opts)
	if err != nil {
		return err
	}
	return errors.Join(do(bus), bus.Close())
}

const ownBucket = "bench"

// withOwnStore runs a new store with an empty bucket while do runs.
func withOwnStore(ctx context.Context, do func(storage.Store) error) error {
	return inTempDir(func(dir string) (err error) {
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
		if err = store.EnsureBucket(ctx, ownBucket); err == nil {
			err = do(store)
		}
		return errors.Join(err, store.Close())
	})
}

// benchJob returns a job of a pipeline that is not deployed.
func benchJob(number int) events.Job {
	return events.Job{
		ID: events.DerivedID("bench", fmt.Sprint(number)), Function: events.FunctionTrain, Class: "cpu",
		Pipeline: "bench", Run: fmt.Sprintf("run-%d", number), Spec: []byte(`{}`),
		Causes: []events.Cause{{Kind: events.KindExamplesReady, Source: "/bench", ID: fmt.Sprint(number), Sequence: 1}},
	}
}

// noModel returns the outcome of a job as if it had trained a model, which does not exist.
func noModel(job events.Job) []events.Event {
	execution := executionOf(job)
	return []events.Event{events.NewModelTrained(job, &events.ModelTrained{
		Model:     events.Model{URI: "s3://bench/model", Digest: execution, Formats: []string{"Format-Serving"}},
		Execution: execution, Module: "builtin:noop@1", Inputs: []events.Artifact{}, Finished: time.Now(),
	})}
}

func executionOf(job events.Job) string {
	return "sha256:" + events.DerivedID(job.ID) + events.DerivedID(job.ID)
}

// countingBus notes which jobs were enqueued.
type countingBus struct {
	events.Bus
	enqueued *tally // nil: none is noted
}

func (c countingBus) Enqueue(ctx context.Context, job events.Job) error {
	err := c.Bus.Enqueue(ctx, job)
	if err == nil && c.enqueued != nil {
		c.enqueued.note(job.ID)
	}
	return err
}

// tally counts different names until there are enough.
type tally struct {
	want int
	all  chan struct{} // closed when there are

	mu   sync.Mutex
	seen map[string]bool
	last time.Time // when the last one was noted; may be read once all is closed
}

func newTally(want int) *tally {
	return &tally{want: want, seen: map[string]bool{}, all: make(chan struct{})}
}

func (t *tally) note(name string) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.seen[name] || len(t.seen) == t.want {
		return
	}
	t.seen[name] = true
	if t.last = time.Now(); len(t.seen) == t.want {
		close(t.all)
	}
}

func (t *tally) wait(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, roundTimeout)
	defer cancel()
	select {
	case <-t.all:
		return nil
	case <-ctx.Done():
		t.mu.Lock()
		defer t.mu.Unlock()
		return fmt.Errorf("%d of %d jobs: %w", len(t.seen), t.want, context.Cause(ctx))
	}
}
