package chaos

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io"
	"log/slog"
	"os"
	"os/signal"
	"syscall"
	"testing"
	"time"

	"github.com/stoker-ml/stoker/events"
	"github.com/stoker-ml/stoker/events/jetstream"
	"github.com/stoker-ml/stoker/functions/dispatch"
	"github.com/stoker-ml/stoker/functions/execution"
	"github.com/stoker-ml/stoker/functions/execution/trainer"
	"github.com/stoker-ml/stoker/functions/execution/tuner"
	"github.com/stoker-ml/stoker/functions/integrate/bridge"
	"github.com/stoker-ml/stoker/functions/module"
	"github.com/stoker-ml/stoker/functions/module/builtin"
	"github.com/stoker-ml/stoker/functions/scratch"
	"github.com/stoker-ml/stoker/functions/worker"
	"github.com/stoker-ml/stoker/local/natsserver"
	"github.com/stoker-ml/stoker/storage"
	"github.com/stoker-ml/stoker/storage/s3"
)

// partEnv holds the part that this binary plays when it is not the test itself.
const partEnv = "STOKER_CHAOS_PART"

// part is what a process needs to know.
type part struct {
	Role  string        `json:"role"`
	Name  string        `json:"name"`
	Life  int           `json:"life"` // from 1
	Cut   cut           `json:"cut"`
	Cuts  string        `json:"cuts"` // file with the cuts so far
	Dir   string        `json:"dir"`  // to work in
	Lease time.Duration `json:"lease"`

	Port int    `json:"port"` // of the bus itself: 0 for any free one
	Sync bool   `json:"sync"` // whether the bus writes through to the disk
	Bus  string `json:"bus"`  // where the others find it

	Store s3.Config   `json:"store"`
	Root  storage.Ref `json:"root"`
	Slots int         `json:"slots"`

	Sweep time.Duration `json:"sweep"` // between a dispatcher's sweeps; 0: its own default
}

// The roles.
const (
	roleBus        = "bus"
	roleDispatcher = "dispatcher"
	roleWorker     = "worker"
	roleBridge     = "bridge"
)

func TestMain(m *testing.M) {
	if len(os.Args) > 1 && os.Args[1] == "module" {
		os.Exit(module.Process(context.Background(), builtin.Module()))
	}
	if text := os.Getenv(partEnv); text != "" {
		os.Exit(play(text))
	}
	flag.Parse()
	os.Exit(m.Run())
}

// play is the main function of a part. It ends on SIGTERM, or when the test has ended and its
// standard input is closed.
func play(text string) int {
	log := slog.New(slog.NewTextHandler(os.Stderr, &slog.HandlerOptions{Level: slog.LevelDebug}))
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGTERM)
	defer stop()
	go func() {
		_, _ = io.Copy(io.Discard, os.Stdin)
		os.Exit(1)
	}()
	var p part
	err := json.Unmarshal([]byte(text), &p)
	if err == nil {
		log.Info("begins", "part", p.Name, "life", p.Life, "cut", p.Cut.String())
		err = p.run(ctx, log)
	}
	if err != nil {
		log.Error("ends", "error", err)
		return 1
	}
	return 0
}

func (p part) run(ctx context.Context, log *slog.Logger) error {
	switch p.Role {
	case roleBus:
		return p.runBus(ctx, log)
	case roleDispatcher:
		return p.runDispatcher(ctx, log)
	case roleWorker:
		return p.runWorker(ctx, log)
	case roleBridge:
		return p.runBridge(ctx, log)
	}
	return fmt.Errorf("no such role: %q", p.Role)
}

// runBus prints where it listens.
func (p part) runBus(ctx context.Context, log *slog.Logger) error {
	server, err := natsserver.Start(ctx, natsserver.Options{Dir: p.Dir, Port: p.Port, SyncAlways: p.Sync, Logger: log})
	if err != nil {
		return err
	}
	fmt.Println(server.URL())
	<-ctx.Done()
	return server.Close()
}

func (p part) runDispatcher(ctx context.Context, log *slog.Logger) error {
	bus, err := p.connect(ctx, log)
	if err != nil {
		return err
	}
	defer bus.Close()
	var dispatcher *dispatch.Dispatcher
	err = persist(ctx, log, func() (err error) {
		dispatcher, err = dispatch.New(ctx, cutBus{bus, newCutter(p, log)}, log)
		return err
	})
	if err != nil {
		return err
	}
	if p.Sweep > 0 {
		dispatcher.SweepEvery = p.Sweep
	}
	return dispatcher.Run(ctx)
}

func (p part) runBridge(ctx context.Context, log *slog.Logger) error {
	store, err := s3.Open(ctx, p.Store)
	if err != nil {
		return err
	}
	defer store.Close()
	bus, err := p.connect(ctx, log)
	if err != nil {
		return err
	}
	defer bus.Close()
	b, err := bridge.New(bus, store, bridge.Options{Logger: log})
	if err != nil {
		return err
	}
	return b.Run(ctx)
}

// runWorker composes a worker as functions/stoker does.
func (p part) runWorker(ctx context.Context, log *slog.Logger) (err error) {
	store, err := s3.Open(ctx, p.Store)
	if err != nil {
		return err
	}
	defer store.Close()
	bus, err := p.connect(ctx, log)
	if err != nil {
		return err
	}
	defer bus.Close()
	desks, err := scratch.Open(p.Dir, nil)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, desks.Close()) }()
	cutter := newCutter(p, log)
	modules, err := newModules(cutter, log)
	if err != nil {
		return err
	}
	defer modules.host.Close()
	executor := execution.New(cutStore{store, cutter}, modules, execution.Options{Root: p.Root, WorkDir: desks.Path(), Logger: log})
	tune := tuner.New(executor, cutBus{bus, cutter})
	functions := []worker.Function{trainer.New(executor, trainer.Options{}), tune, tune.Trials()}
	options := worker.Options{Functions: functions, Slots: p.Slots, Logger: log}
	return worker.New(cutBus{bus, cutter}, options).Run(ctx)
}

// connect waits for the bus: it may be away just when a part begins.
func (p part) connect(ctx context.Context, log *slog.Logger) (bus *jetstream.Bus, err error) {
	err = persist(ctx, log, func() (err error) {
		bus, err = jetstream.Connect(ctx, p.Bus, jetstream.Options{Lease: p.Lease, Name: p.Name, Logger: log})
		return err
	})
	return bus, err
}

// persist does what can't be done while the bus is away, until it can.
func persist(ctx context.Context, log *slog.Logger, do func() error) error {
	for {
		err := do()
		if err == nil || ctx.Err() != nil || errors.Is(err, events.ErrClosed) {
			return err
		}
		log.Info("waits for the bus", "error", err)
		select {
		case <-ctx.Done():
			return context.Cause(ctx)
		case <-time.After(100 * time.Millisecond):
		}
	}
}

// firstLine returns what a bus prints.
func firstLine(r io.Reader) (string, error) {
	scanner := bufio.NewScanner(r)
	if !scanner.Scan() {
		return "", errors.Join(errors.New("ended before it said anything"), scanner.Err())
	}
	return scanner.Text(), nil
}
