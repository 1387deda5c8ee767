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
	"github.com/stoker-ml/stoker/functions/group"
	"github.com/stoker-ml/stoker/functions/guest"
	"github.com/stoker-ml/stoker/functions/module"
	"github.com/stoker-ml/stoker/functions/telemetry"
	"github.com/stoker-ml/stoker/functions/worker"
	"github.com/stoker-ml/stoker/storage"
)

// Workshop is where executions are worked on: a store, a guest that runs modules, and room for desks. Its methods may be called
// from several goroutines at once.
type Workshop struct {
	store storage.Store
	guest Guest
	opts  Options

	accepted acceptedGraphs
}

// Guest runs modules; functions/guest does it in child processes.
type Guest interface {
	// Digest identifies the module's code.
	Digest(ctx context.Context, source module.Source) (string, error)
	// Run works on one assignment. Errors are *guest.Errors.
	Run(ctx context.Context, a module.Assignment, limits guest.Limits, on func(module.Message)) (guest.Outcome, error)
	// Check answers a modelcheck.Question. Errors are *guest.Errors.
	Check(ctx context.Context, question json.RawMessage, limits guest.Limits) (answer json.RawMessage, err error)
}

// Options of a Workshop.
type Options struct {
	Root    storage.Ref   // where artifacts go: <root>/<pipeline>/<Component>/<output>/<execution>/<attempt>
	WorkDir string        // holds one folder for each running attempt; default: the system's temporary folder
	Grace   time.Duration // what a module has to write a checkpoint when it is told to leave; default: guest.DefaultGrace
	Logger  *slog.Logger
	Now     func() time.Time

	Telemetry *telemetry.Telemetry // is told of checkpoints; nil: nothing is

	Group *group.Leader // of the hosts that train one model together; nil: this one trains alone

	GraphOps []string // operations that graphs which events name may have besides the usual ones; nil: those of STOKER_GRAPH_OPS

	CacheDir string // holds the modules that lie at addresses; default: stoker/modules/fetched in the user's cache folder
}

// New returns a workshop that reads and writes store and runs modules in g.
func New(store storage.Store, g Guest, opts Options) *Workshop {
	if opts.Logger == nil {
		opts.Logger = slog.New(slog.DiscardHandler)
	}
	opts.Grace = cmp.Or(opts.Grace, guest.DefaultGrace)
	if opts.Now == nil {
		opts.Now = time.Now
	}
	if opts.GraphOps == nil {
		opts.GraphOps = strings.FieldsFunc(os.Getenv("STOKER_GRAPH_OPS"), func(r rune) bool { return r == ',' || r == ' ' })
	}
	return &Workshop{store: store, guest: g, opts: opts}
}

// Kind is what is special about a kind of job. Each method may be called again for the same job, by anyone.
type Kind interface {
	// Identify reads what the job asks for and lists its inputs, to know which execution it is. It reads only.
	Identify(ctx context.Context, task worker.Task) (Execution, error)
	// Work does an execution that nobody has done yet, and returns what was committed: ours, or that of another attempt which
	// came first.
	Work(ctx context.Context, task worker.Task, e Execution) (*Result, error)
	// Tell makes the fact of a job whose execution is committed.
	Tell(job events.Job, r Result) (events.Fact, error)
}

// Handle works on one job, or sees to it that nothing comes of one that is cancelled. It keeps the contract of worker.Function.
func (w *Workshop) Handle(ctx context.Context, task worker.Task, kind Kind) ([]events.Fact, error) {
	if task.Attempt.Cancelled {
		return w.callOff(ctx, task, kind)
	}
	facts, err := w.walk(ctx, task, kind)
	if err != nil && errors.Is(context.Cause(ctx), events.ErrCancelled) {
		return w.callOff(ctx, task, kind)
	}
	return facts, unreadable(task.Attempt, err)
}

// walk is that of a job: list the inputs, know the execution, skip what is done already; else do it, and tell.
func (w *Workshop) walk(ctx context.Context, task worker.Task, kind Kind) ([]events.Fact, error) {
	e, err := identify(ctx, task, kind)
	if err != nil {
		return nil, err
	}
	done, err := w.committed(ctx, &e)
	if err != nil {
		return nil, e.failed(err)
	}
	if done == nil {
		if done, err = kind.Work(ctx, task, e); err != nil {
			return nil, e.failed(err)
		}
	}
	return e.tell(kind, *done)
}

func identify(ctx context.Context, task worker.Task, kind Kind) (e Execution, err error) {
	ctx, span := telemetry.Start(ctx, "identify")
	defer span.End(&err)
	if e, err = kind.Identify(ctx, task); err == nil {
		span.Text("stoker.execution", e.ID)
	}
	return e, err
}
