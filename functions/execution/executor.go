package execution

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"log/slog"
	"os"
	"strings"
	"time"

	"github.com/stoker-ml/stoker/events"
	"github.com/stoker-ml/stoker/functions/module"
	"github.com/stoker-ml/stoker/functions/runner"
	"github.com/stoker-ml/stoker/functions/runner/multihost"
	"github.com/stoker-ml/stoker/functions/telemetry"
	"github.com/stoker-ml/stoker/functions/worker"
	"github.com/stoker-ml/stoker/storage"
)

// Executor executes jobs: it has a store, a runner that runs modules, and a directory for
// workspaces. Its methods may be called by several goroutines at once.
type Executor struct {
	store  storage.Store
	runner Runner
	opts   Options

	accepted acceptedInputs
}

// Runner runs modules; functions/runner does so in child processes. Its methods may be called by
// several goroutines at once.
type Runner interface {
	// Digest identifies the module's code.
	Digest(ctx context.Context, source module.Source) (string, error)
	// Run works on one assignment. Errors are *runner.Errors.
	Run(ctx context.Context, a module.Assignment, limits runner.Limits, on func(module.Message)) (runner.Outcome, error)
	// Check answers a modelcheck.Question. Errors are *runner.Errors.
	Check(ctx context.Context, question json.RawMessage, limits runner.Limits) (answer json.RawMessage, err error)
}

// Options of an Executor.
type Options struct {
	// Artifacts are stored at <root>/<pipeline>/<Component>/<output>/<execution>/<attempt>.
	Root storage.Ref
	// Holds a workspace for each running attempt; default: the system's temporary directory.
	WorkDir string
	// The time that a module has to write a checkpoint when it must stop; default:
	// runner.DefaultGrace.
	Grace  time.Duration
	Logger *slog.Logger
	Now    func() time.Time

	Telemetry *telemetry.Telemetry // counts checkpoints and trials; nil: none

	Group *multihost.Leader // the hosts that train one model together; nil: this host trains alone

	// Operations that graphs named by events may have besides the usual ones; nil: those of
	// STOKER_GRAPH_OPS.
	GraphOps []string

	// Names the image of the worker's container, for results; default: the value of STOKER_IMAGE.
	Image string

	// Holds copies of modules that have addresses; default: stoker/modules/fetched in the user's
	// cache directory.
	CacheDir string
}

// New returns an executor that reads and writes store and runs modules in g.
func New(store storage.Store, g Runner, opts Options) *Executor {
	if opts.Logger == nil {
		opts.Logger = slog.New(slog.DiscardHandler)
	}
	opts.Grace = cmp.Or(opts.Grace, runner.DefaultGrace)
	if opts.Now == nil {
		opts.Now = time.Now
	}
	opts.Image = cmp.Or(opts.Image, os.Getenv("STOKER_IMAGE"))
	if opts.GraphOps == nil {
		opts.GraphOps = strings.FieldsFunc(os.Getenv("STOKER_GRAPH_OPS"), func(r rune) bool { return r == ',' || r == ' ' })
	}
	return &Executor{store: store, runner: g, opts: opts}
}

// Execute works on one job, or ensures that a cancelled one has no result. It keeps the contract of
// worker.Function.Handle.
func (x *Executor) Execute(ctx context.Context, task worker.Task, c Component) ([]events.Event, error) {
	if task.Attempt.Cancelled {
		return x.cancel(ctx, task, c)
	}
	evs, err := x.execute(ctx, task, c)
	if err != nil && errors.Is(context.Cause(ctx), events.ErrCancelled) {
		return x.cancel(ctx, task, c)
	}
	return evs, deniedTooOften(task.Attempt, err)
}

// execute is the main path of every job. Each step can be repeated; see the package comment for
// what each one does.
func (x *Executor) execute(ctx context.Context, task worker.Task, c Component) (_ []events.Event, err error) {
	e, err := x.Identify(ctx, task, c)
	if err != nil {
		return nil, err
	}
	defer func() { err = e.failed(err) }()
	if done, err := x.committed(ctx, &e); err != nil {
		return nil, err
	} else if done != nil {
		return e.event(c, *done)
	}
	a, err := x.Open(task, e)
	if err != nil {
		return nil, err
	}
	defer a.CloseWith(&err)
	if done, err := a.earlier(ctx, c); err != nil {
		return nil, err
	} else if done != nil {
		return e.event(c, *done)
	}
	work, err := c.Start(ctx, a)
	if err != nil {
		return nil, err
	}
	if !work.Settled() {
		if err := a.joinGroup(ctx); err != nil {
			return nil, err
		}
		if err := a.StageIn(ctx); err != nil {
			return nil, err
		}
		if err := a.resume(ctx, work); err != nil {
			return nil, err
		}
		if err := work.Run(ctx); err != nil {
			return nil, err
		}
	}
	made, err := a.check(ctx, work)
	if err != nil {
		return nil, err
	}
	manifest, err := a.publish(ctx, made)
	if err != nil {
		return nil, err
	}
	done, err := a.commit(ctx, manifest)
	if err != nil {
		return nil, err
	}
	a.RemoveCheckpoints(ctx)
	return e.event(c, *done)
}

// Log returns a logger whose lines name the job and the attempt.
func (x *Executor) Log(task worker.Task) *slog.Logger {
	return x.opts.Logger.With(
		"job", task.Job.ID, "pipeline", task.Job.Pipeline, "run", task.Job.Run, "attempt", task.Attempt.ID)
}
