package local

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"

	"golang.org/x/sync/errgroup"

	"github.com/stoker-ml/stoker/events/jetstream"
	"github.com/stoker-ml/stoker/functions/bridge"
	"github.com/stoker-ml/stoker/functions/dispatch"
	"github.com/stoker-ml/stoker/functions/telemetry"
	"github.com/stoker-ml/stoker/functions/worker"
	"github.com/stoker-ml/stoker/local/bucket"
	"github.com/stoker-ml/stoker/local/bus"
	"github.com/stoker-ml/stoker/storage"
	"github.com/stoker-ml/stoker/storage/s3"
)

// BucketName is the bucket that a local stack keeps its artifacts in.
const BucketName = "stoker"

// Options of a local stack.
type Options struct {
	DataDir  string            // absolute or relative; made if need be
	Builtins map[string]string // compiled-in modules and the digests of what they do
	Slots    int               // jobs at once; default 1
	Warm     int               // idle module processes, as in guest.Options; default 0
	NoWorker bool              // jobs are left to workers of their own
	Bridge   *bridge.Options   // makes facts of markers that are uploaded to the store; nil: nobody does
	BusPort  int               // 0: the one of last time while it is free, else any
	S3Port   int               // the same
	Logger   *slog.Logger

	PythonWarm string // as in guest.Options

	Telemetry *telemetry.Telemetry // of dispatcher, worker and bridge; nil: none
}

// Stack is a running local Stoker.
type Stack struct {
	Box   *jetstream.Letterbox
	Store *s3.Store
	Root  storage.Ref // where artifacts go

	connection Connection
	address    string
}

// With runs a stack for as long as do runs, and takes it down in the order that loses nothing: functions first, then the
// servers. It returns do's error, or that of the part which failed first.
func With(ctx context.Context, opts Options, do func(context.Context, *Stack) error) (err error) {
	if opts.DataDir, err = filepath.Abs(opts.DataDir); err != nil {
		return err
	}
	held, err := lock(opts.DataDir)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, held.Unlock()) }()
	return withServers(ctx, opts, func(ctx context.Context, s servers) error {
		return withFunctions(ctx, opts, s, do)
	})
}

// Wait returns when ctx ends or a function fails.
func (s *Stack) Wait(ctx context.Context) error {
	<-ctx.Done()
	if cause := context.Cause(ctx); !errors.Is(cause, context.Canceled) {
		return cause
	}
	return nil
}

// Connection says how others reach the stack.
func (s *Stack) Connection() Connection { return s.connection }

// BusAddress is the bus's URL without its credentials.
func (s *Stack) BusAddress() string { return s.address }

// servers are the two that everything else needs.
type servers struct {
	bus     *bus.Server
	bucket  *bucket.Server
	notices *notices // from bucket to bus
}

// withServers starts both at once.
func withServers(ctx context.Context, opts Options, do func(context.Context, servers) error) (err error) {
	s, last := servers{notices: new(notices)}, lastPorts(opts.DataDir)
	var starting errgroup.Group
	starting.Go(func() (err error) {
		s.bus, err = onPort(opts.BusPort, last.Bus, func(port int) (*bus.Server, error) {
			return bus.Start(ctx, bus.Options{Dir: busDir(opts.DataDir), Port: port, Logger: opts.Logger})
		})
		return err
	})
	starting.Go(func() (err error) {
		s.bucket, err = onPort(opts.S3Port, last.S3, func(port int) (*bucket.Server, error) {
			return bucket.Start(ctx, bucket.Options{
				Dir: storeDir(opts.DataDir), Port: port, Tell: s.notices.tell(opts.Bridge), Logger: opts.Logger,
			})
		})
		return err
	})
	err = starting.Wait()
	defer func() { err = errors.Join(err, s.close()) }()
	if err != nil {
		return err
	}
	return do(ctx, s)
}

// close ends whichever server was started.
func (s servers) close() error {
	var errs []error
	if s.bus != nil {
		errs = append(errs, s.bus.Close())
	}
	if s.bucket != nil {
		errs = append(errs, s.bucket.Close())
	}
	return errors.Join(errs...)
}

// watch returns an error when a server ends that was not told to.
func (s servers) watch(ctx context.Context) error {
	select {
	case <-ctx.Done():
		return nil
	case <-s.bus.Done():
		if err := s.bus.Err(); err != nil {
			return fmt.Errorf("the embedded NATS server has ended, for it can't write: %w; make room, and start again: what was acknowledged is there", err)
		}
		return errors.New("the embedded NATS server has ended")
	case <-s.bucket.Done():
		return errors.New("the embedded S3 server has ended")
	}
}

// withFunctions runs dispatcher, worker and bridge beside do. They end when do returns.
func withFunctions(ctx context.Context, opts Options, s servers, do func(context.Context, *Stack) error) (err error) {
	stack, err := open(ctx, opts, s)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, stack.close(opts.DataDir)) }()
	box := opts.Telemetry.Letterbox(stack.Box)
	dispatcher, err := dispatch.New(ctx, box, opts.Logger)
	if err != nil {
		return err
	}
	dispatcher.Telemetry = opts.Telemetry
	return withWorkshop(opts, stack, box, func(functions ...worker.Function) error {
		workers := worker.New(box, worker.Options{Functions: functions, Slots: opts.Slots, Logger: opts.Logger, Telemetry: opts.Telemetry})
		running, ctx := errgroup.WithContext(ctx)
		ctx, stop := context.WithCancel(ctx)
		defer stop()
		running.Go(func() error { return dispatcher.Run(ctx) })
		running.Go(func() error { return stack.runBridge(ctx, opts) })
		if !opts.NoWorker {
			running.Go(func() error { return workers.Run(ctx) })
		}
		running.Go(func() error { return s.watch(ctx) })
		running.Go(func() error { defer stop(); return do(ctx, stack) })
		return running.Wait()
	})
}

// open connects to the servers and leaves word of how to reach them.
func open(ctx context.Context, opts Options, s servers) (*Stack, error) {
	root := storage.Ref{Bucket: BucketName}
	keys := s.bucket.Credentials()
	connection := Connection{
		NATS: s.bus.URL(), S3: s.bucket.Endpoint(), AccessKey: keys.AccessKey, SecretKey: keys.SecretKey,
		Root: root.String(), PID: os.Getpid(),
	}
	store, err := s3.Open(ctx, connection.Store())
	if err != nil {
		return nil, fmt.Errorf("open store: %w", err)
	}
	if err := store.EnsureBucket(ctx, BucketName); err != nil {
		return nil, errors.Join(err, store.Close())
	}
	box, err := jetstream.Connect(ctx, connection.NATS, jetstream.Options{Create: true, Logger: opts.Logger})
	if err != nil {
		return nil, errors.Join(fmt.Errorf("open bus: %w", err), store.Close())
	}
	s.notices.to.Store(box)
	if err := errors.Join(connection.keepPorts(opts.DataDir), connection.write(opts.DataDir)); err != nil {
		return nil, errors.Join(err, box.Close(), store.Close())
	}
	return &Stack{Box: box, Store: store, Root: root, connection: connection, address: s.bus.Address()}, nil
}

// close takes back the word of how to reach the stack, and leaves the servers: one that still has clients ends slowly.
func (s *Stack) close(dataDir string) error {
	return errors.Join(os.Remove(connectionFile(dataDir)), s.Box.Close(), s.Store.Close())
}
