package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"strings"
	"sync"
	"syscall"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/stoker-ml/stoker/events"
	"github.com/stoker-ml/stoker/events/jetstream"
	"github.com/stoker-ml/stoker/functions/dispatch"
	"github.com/stoker-ml/stoker/functions/pipeline"
	"github.com/stoker-ml/stoker/local"
	"github.com/stoker-ml/stoker/local/demo"
	"github.com/stoker-ml/stoker/storage"
	"github.com/stoker-ml/stoker/storage/backend"
)

const (
	stopTimeout  = 15 * time.Second // of `stoker up`
	roundTimeout = 5 * time.Minute  // of one round, which takes less than a second as a rule
)

// deployment is a running `stoker up`.
type deployment struct {
	pid        int
	started    time.Duration // from the start of the process to its line that everything is up
	connection local.Connection
}

// upOptions are for a `stoker up`.
type upOptions struct {
	dir   string   // of its data; "": a temporary directory
	flags []string // in addition
	env   []string // name=value, in addition to this process's own
}

// withUp starts `stoker up` of the measured binary, calls do, and stops the process as Ctrl-C does.
func (b bench) withUp(ctx context.Context, o upOptions, do func(context.Context, deployment) error) error {
	if o.dir == "" {
		return inTempDir(func(dir string) error {
			o.dir = dir
			return b.withUp(ctx, o, do)
		})
	}
	cmd := exec.CommandContext(ctx, b.binary, append([]string{"up", "--data", o.dir}, o.flags...)...)
	cmd.Env = append(os.Environ(), o.env...)
	cmd.Cancel = func() error { return cmd.Process.Signal(syscall.SIGTERM) }
	cmd.WaitDelay = stopTimeout
	output := &upOutput{up: make(chan struct{})}
	cmd.Stderr = output
	began := time.Now()
	if err := cmd.Start(); err != nil {
		return fmt.Errorf("start %s (task build makes it): %w", b.binary, err)
	}
	ended := make(chan error, 1)
	go func() { ended <- cmd.Wait() }()
	select {
	case <-output.up:
	case err := <-ended:
		return fmt.Errorf("stoker up ended before it was up: %w\n%s", errors.Join(err, context.Cause(ctx)), output.String())
	}
	running := deployment{pid: cmd.Process.Pid, started: time.Since(began)}
	var err error
	if running.connection, err = local.ReadConnection(o.dir); err == nil {
		err = do(ctx, running)
	}
	_ = cmd.Process.Signal(os.Interrupt) // it may have ended, which Wait reports
	stopped := <-ended
	if exit, ok := errors.AsType[*exec.ExitError](stopped); ok && exit.ExitCode() == 130 {
		stopped = nil // interrupted
	}
	if err = errors.Join(err, stopped); err == nil && strings.Contains(output.String(), "level=") {
		err = fmt.Errorf("stoker up had warnings:\n%s", output.String())
	}
	return err
}

// upOutput keeps what a `stoker up` writes to standard error, and closes up when it reports that it
// is up.
type upOutput struct {
	up chan struct{}

	mu   sync.Mutex
	isUp bool
	text bytes.Buffer
}

func (o *upOutput) Write(p []byte) (int, error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.text.Write(p)
	if !o.isUp && bytes.Contains(o.text.Bytes(), []byte("stoker is up")) {
		o.isUp = true
		close(o.up)
	}
	return len(p), nil
}

func (o *upOutput) String() string {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.text.String()
}

// client publishes the events of runs to a deployment and follows them.
type client struct {
	deployment
	bus       *jetstream.Bus
	artifacts storage.Ref
	spec      pipeline.Pipeline
}

// withClient starts a deployment with the artifacts of the demo in its store, and connects to it.
func (b bench) withClient(ctx context.Context, o upOptions, do func(context.Context, *client) error) error {
	connect := func(ctx context.Context, to deployment) error {
		c := &client{deployment: to}
		if err := c.upload(ctx); err != nil {
			return err
		}
		var err error
		if c.bus, err = jetstream.Connect(ctx, to.connection.NATS, jetstream.Options{Name: "stoker-bench"}); err != nil {
			return err
		}
		return errors.Join(do(ctx, c), c.bus.Close())
	}
	if b.running != nil {
		return connect(ctx, *b.running)
	}
	return b.withUp(ctx, o, connect)
}

// upload uploads what every run reads.
func (c *client) upload(ctx context.Context) (err error) {
	root, err := storage.ParseRef(c.connection.Root)
	if err != nil {
		return err
	}
	c.artifacts = root.Join("demo", demo.PipelineName)
	if c.spec, err = pipeline.Parse(demo.PipelineFile()); err != nil {
		return err
	}
	store, err := backend.Open(ctx, c.connection.Store())
	if err != nil {
		return err
	}
	return errors.Join(demo.Upload(ctx, store, c.artifacts), store.Close())
}

// deploy applies a pipeline. A seed that no other round has makes an execution that is not cached.
func (c *client) deploy(ctx context.Context, spec pipeline.Pipeline, seed int) error {
	spec.Trainer.Seed = int64(seed)
	_, _, err := dispatch.Apply(ctx, c.bus, spec)
	return err
}

// publishAll publishes events in their order.
func publishAll(ctx context.Context, bus events.EventLog, evs []events.Event) error {
	for _, event := range evs {
		if _, err := bus.Publish(ctx, event); err != nil {
			return err
		}
	}
	return nil
}

// Phases that the trainer reports. All others are its module's.
const (
	staging    = "staging"  // a worker has the job and knows its inputs
	starting   = "starting" // the inputs are staged, the module is about to be started
	checking   = "checking"
	publishing = "publishing"
)

// runTimes is when the steps of one run were reported, since its last event was about to be
// published.
type runTimes struct {
	phase    map[string]time.Duration // the first report of each
	module   time.Duration            // the first report of the module
	trained  time.Duration            // ModelTrained
	accuracy float64                  // of the model, on the eval split
}

// errTrained ends the watching of a run.
var errTrained = errors.New("the model is trained")

// follow publishes the events of a run and watches it until its model is trained. It watches before
// the last event is published, so that it misses none.
func (c *client) follow(ctx context.Context, run string) (runTimes, error) {
	ctx, cancel := context.WithTimeout(ctx, roundTimeout)
	defer cancel()
	evs := demo.Events(c.artifacts, run)
	last := evs[len(evs)-1]
	if err := publishAll(ctx, c.bus, evs[:len(evs)-1]); err != nil {
		return runTimes{}, err
	}
	t := runTimes{phase: map[string]time.Duration{}}
	watching, ctx := errgroup.WithContext(ctx)
	progress := c.bus.Watch(ctx, last.Pipeline, run)
	began := time.Now()
	watching.Go(func() error {
		for p, err := range progress {
			if err != nil && ctx.Err() == nil {
				return err
			}
			t.report(p.Phase, time.Since(began))
		}
		return nil
	})
	watching.Go(func() error {
		if _, err := c.bus.Publish(ctx, last); err != nil {
			return err
		}
		model, err := c.awaitModel(ctx, last)
		if err != nil {
			return err
		}
		t.trained, t.accuracy = time.Since(began), model.Metrics["accuracy"]
		return errTrained
	})
	if err := watching.Wait(); !errors.Is(err, errTrained) {
		return t, err
	}
	if t.module == 0 {
		return t, fmt.Errorf("run %s: its module reported nothing", run)
	}
	return t, nil
}

// report notes the first time of a phase.
func (t *runTimes) report(phase string, at time.Duration) {
	if _, before := t.phase[phase]; before {
		return
	}
	t.phase[phase] = at
	ofTrainer := phase == staging || phase == starting || phase == checking || phase == publishing
	if !ofTrainer && t.module == 0 {
		t.module = at
	}
}

// awaitModel returns when the run's model is trained.
func (c *client) awaitModel(ctx context.Context, of events.Event) (*events.ModelTrained, error) {
	query := events.Query{Kinds: events.OutcomeKinds(), Pipeline: of.Pipeline, Run: of.Run, Follow: true}
	for recorded, err := range c.bus.Read(ctx, query) {
		if err != nil {
			return nil, err
		}
		switch data := recorded.Event.Data.(type) {
		case *events.TrainingFailed:
			return nil, fmt.Errorf("run %s failed: %s", of.Run, data.Message)
		case *events.ModelTrained:
			if data.Cached {
				return nil, fmt.Errorf("run %s: nothing was trained, the model was cached", of.Run)
			}
			return data, nil
		default: // the query has no other kinds
		}
	}
	return nil, context.Cause(ctx)
}
