package stack

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"

	"golang.org/x/sync/errgroup"

	"github.com/stoker-ml/stoker/events"
	"github.com/stoker-ml/stoker/events/jetstream"
	"github.com/stoker-ml/stoker/functions/dispatch"
	"github.com/stoker-ml/stoker/functions/execution"
	"github.com/stoker-ml/stoker/functions/execution/trainer"
	"github.com/stoker-ml/stoker/functions/execution/tuner"
	"github.com/stoker-ml/stoker/functions/integrate/bridge"
	"github.com/stoker-ml/stoker/functions/runner"
	"github.com/stoker-ml/stoker/functions/scratch"
	"github.com/stoker-ml/stoker/functions/telemetry"
	"github.com/stoker-ml/stoker/functions/worker"
	"github.com/stoker-ml/stoker/local"
	"github.com/stoker-ml/stoker/storage"
	"github.com/stoker-ml/stoker/storage/s3"
)

// BucketName is the bucket of a stack's artifacts.
const BucketName = "stoker"

// Options are the options of a stack.
type Options struct {
	DataDir  string            // absolute or relative; created if it does not exist
	Builtins map[string]string // compiled-in modules and the digests of their code
	Slots    int               // concurrent jobs; default 1
	Warm     int               // idle module processes, as in runner.Options; default 0
	NoWorker bool              // leave jobs to workers in other processes
	// Publishes events of markers that are uploaded to the store; nil: none.
	Bridge  *bridge.Options
	BusPort int // as in local.Options
	S3Port  int // the same
	Logger  *slog.Logger
	Version string // of the program, for the heartbeats of its worker

	PythonWarm string // as in runner.Options

	Telemetry *telemetry.Telemetry // of dispatcher, worker and bridge; nil: none
}

// Stack is a running Stoker.
type Stack struct {
	Bus   *jetstream.Bus
	Store *s3.Store
	Root  storage.Ref // place of artifacts

	connection local.Connection
	address    string
}

// With runs a stack while do runs. It stops the functions first, then the servers, so that nothing
// is lost. It returns do's error, or that of the part that failed first.
func With(ctx context.Context, opts Options, do func(context.Context, *Stack) error) (err error) {
	if opts.DataDir, err = filepath.Abs(opts.DataDir); err != nil {
		return err
	}
	notifier := new(notifier)
	servers := local.Options{
		DataDir: opts.DataDir, BusPort: opts.BusPort, S3Port: opts.S3Port, Notify: notifier.notifications(opts.Bridge), Logger: opts.Logger,
	}
	return local.With(ctx, servers, func(ctx context.Context, s *local.Servers) error {
		return withClients(ctx, opts, s, notifier, func(stack *Stack) error { return stack.run(ctx, opts, s, do) })
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

// Connection returns how other processes reach the stack.
func (s *Stack) Connection() local.Connection { return s.connection }

// BusAddress is the URL of the bus without its credentials.
func (s *Stack) BusAddress() string { return s.address }

// withClients connects to the servers and announces the connection while do runs. It closes the
// clients before the servers stop: a server with clients stops slowly.
func withClients(ctx context.Context, opts Options, servers *local.Servers, notifier *notifier, do func(*Stack) error) (err error) {
	root := storage.Ref{Bucket: BucketName}
	connection := servers.Connection(root.String())
	store, err := s3.Open(ctx, s3.Config{Endpoint: connection.S3, AccessKey: connection.AccessKey, SecretKey: connection.SecretKey})
	if err != nil {
		return fmt.Errorf("open store: %w", err)
	}
	defer func() { err = errors.Join(err, store.Close()) }()
	if err := store.EnsureBucket(ctx, BucketName); err != nil {
		return err
	}
	bus, err := jetstream.Connect(ctx, connection.NATS, jetstream.Options{Create: true, Logger: opts.Logger})
	if err != nil {
		return fmt.Errorf("open bus: %w", err)
	}
	defer func() { err = errors.Join(err, bus.Close()) }()
	notifier.to.Store(bus)
	withdraw, err := servers.Announce(connection)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, withdraw()) }()
	return do(&Stack{Bus: bus, Store: store, Root: root, connection: connection, address: servers.BusAddress()})
}

// run runs dispatcher, worker and bridge while do runs.
func (s *Stack) run(ctx context.Context, opts Options, servers *local.Servers, do func(context.Context, *Stack) error) error {
	bus := opts.Telemetry.Bus(s.Bus)
	dispatcher, err := dispatch.New(ctx, bus, opts.Logger)
	if err != nil {
		return err
	}
	dispatcher.Telemetry = opts.Telemetry
	return s.withFunctions(opts, bus, func(functions ...worker.Function) error {
		workers := worker.New(bus, worker.Options{Functions: functions, Slots: opts.Slots, Logger: opts.Logger, Telemetry: opts.Telemetry, Version: opts.Version})
		running, ctx := errgroup.WithContext(ctx)
		ctx, stop := context.WithCancel(ctx)
		defer stop()
		running.Go(func() error { return dispatcher.Run(ctx) })
		running.Go(func() error { return s.runBridge(ctx, opts) })
		if !opts.NoWorker {
			running.Go(func() error { return workers.Run(ctx) })
		}
		running.Go(func() error { return servers.Watch(ctx) })
		running.Go(func() error { defer stop(); return do(ctx, s) })
		return running.Wait()
	})
}

// withFunctions creates the functions for a worker's jobs. It first removes the working directories
// of a killed stack: its jobs are done again, in new directories.
func (s *Stack) withFunctions(opts Options, bus events.Bus, do func(...worker.Function) error) (err error) {
	work := filepath.Join(opts.DataDir, "work")
	if err := os.MkdirAll(work, 0o700); err != nil {
		return fmt.Errorf("create a working directory: %w", err)
	}
	workspaces, err := scratch.Open(work, nil)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, workspaces.Close()) }()
	host, err := runner.New(runner.Options{
		CacheDir: filepath.Join(opts.DataDir, "modules"), Builtins: opts.Builtins, Warm: opts.Warm, PythonWarm: opts.PythonWarm,
		Slots: opts.Slots, Logger: opts.Logger, Hidden: local.Secrets(opts.DataDir), WorkDir: workspaces.Path(),
	})
	if err != nil {
		return err
	}
	defer host.Close()
	executor := execution.New(s.Store, host, execution.Options{
		Root: s.Root, WorkDir: workspaces.Path(), CacheDir: filepath.Join(opts.DataDir, "modules", "fetched"), Logger: opts.Logger,
		Telemetry: opts.Telemetry,
	})
	train := trainer.New(executor, trainer.Options{Python: os.Getenv(runner.PythonEnv), Fallback: host.Interpreter})
	tune := tuner.New(executor, bus)
	return do(train, tune, tune.Trials())
}
