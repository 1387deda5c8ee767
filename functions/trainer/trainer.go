package trainer

import (
	"context"
	"errors"
	"log/slog"
	"time"

	"github.com/stoker-ml/stoker/events"
	"github.com/stoker-ml/stoker/functions/guest"
	"github.com/stoker-ml/stoker/functions/module"
	"github.com/stoker-ml/stoker/functions/pipeline"
	"github.com/stoker-ml/stoker/functions/worker"
	"github.com/stoker-ml/stoker/storage"
)

// Trainer is the worker.Function that trains models.
type Trainer struct {
	store storage.Store
	guest Guest
	opts  Options
}

// Guest runs modules; functions/guest does it in child processes.
type Guest interface {
	// Digest identifies the module's code.
	Digest(ctx context.Context, name string) (string, error)
	// Run works on one assignment. Errors are *guest.Errors.
	Run(ctx context.Context, a module.Assignment, limits guest.Limits, on func(module.Message)) (guest.Outcome, error)
}

// Options of a Trainer.
type Options struct {
	Root    storage.Ref   // where artifacts go: <root>/<pipeline>/Trainer/<output>/<execution>/<attempt>
	WorkDir string        // holds one folder for each running attempt; default: the system's temporary folder
	Grace   time.Duration // what a module has to write a checkpoint when it is told to leave; default: that of guest.Limits
	Logger  *slog.Logger
	Now     func() time.Time
}

// New returns a trainer that reads and writes store and runs modules in g.
func New(store storage.Store, g Guest, opts Options) *Trainer {
	if opts.Logger == nil {
		opts.Logger = slog.New(slog.DiscardHandler)
	}
	if opts.Now == nil {
		opts.Now = time.Now
	}
	return &Trainer{store: store, guest: g, opts: opts}
}

// Name says that a trainer takes train jobs.
func (t *Trainer) Name() events.Function { return events.FunctionTrain }

// Limits says how often the module may fail. A job whose pipeline does not parse fails for good at once.
func (t *Trainer) Limits(job events.Job) worker.Limits {
	spec, err := pipeline.FromJSON(job.Spec)
	if err != nil {
		return worker.Limits{Attempts: 1, Crashes: 1}
	}
	return worker.Limits{Attempts: spec.Trainer.MaxAttempts, Crashes: spec.Trainer.MaxCrashes}
}

// Failed tells of a job that is given up.
func (t *Trainer) Failed(task worker.Task, failure *events.Failure) events.Fact {
	return events.NewJobFailed(task.Job, task.Attempt, failure)
}

// Handle works on one train job, or sees to it that nothing comes of one that is cancelled.
func (t *Trainer) Handle(ctx context.Context, task worker.Task) ([]events.Fact, error) {
	if task.Attempt.Cancelled {
		return t.callOff(ctx, task)
	}
	facts, err := t.work(ctx, task)
	if err != nil && errors.Is(context.Cause(ctx), events.ErrCancelled) {
		return t.callOff(ctx, task)
	}
	return facts, err
}

// work is the walk of a job: list the inputs, know the execution, skip what is done already; else do it, and tell.
func (t *Trainer) work(ctx context.Context, task worker.Task) ([]events.Fact, error) {
	execution, err := t.identify(ctx, task)
	if err != nil {
		return nil, err
	}
	done, err := t.committed(ctx, &execution)
	if err != nil {
		return nil, execution.failed(err)
	}
	if done == nil {
		if done, err = t.execute(ctx, task, execution); err != nil {
			return nil, execution.failed(err)
		}
	}
	return []events.Fact{trained(task.Job, *done)}, nil
}

// identify reads what the job asks for and lists its inputs, to know which execution it is.
func (t *Trainer) identify(ctx context.Context, task worker.Task) (execution, error) {
	spec, err := pipeline.FromJSON(task.Job.Spec)
	if err != nil {
		return execution{}, inputFailure(err)
	}
	inputs, err := t.list(ctx, task.Job, spec)
	if err != nil {
		return execution{}, err
	}
	return t.execution(ctx, task, spec, inputs)
}

// execute does the work of an execution that nobody has done yet, and returns what was committed: ours, or that of
// another attempt which came first.
func (t *Trainer) execute(ctx context.Context, task worker.Task, e execution) (*result, error) {
	desk, err := t.openDesk(task.Attempt)
	if err != nil {
		return nil, err
	}
	defer desk.clear()
	a := attempt{Task: task, execution: e, desk: desk, started: t.opts.Now()}
	if err := t.stageIn(ctx, a); err != nil {
		return nil, err
	}
	if err := t.resume(ctx, &a); err != nil {
		return nil, err
	}
	if a.assignment, err = assign(a); err != nil {
		return nil, err
	}
	var done *result
	err = t.saving(ctx, &a, func(take func(step int)) error {
		done, err = t.finish(ctx, a, take)
		return err
	})
	if err != nil {
		return nil, err
	}
	t.forget(ctx, a)
	return done, nil
}

// finish runs the module, and makes what it leaves the outcome of the execution. take is called for each checkpoint.
func (t *Trainer) finish(ctx context.Context, a attempt, take func(step int)) (_ *result, err error) {
	if a.outcome, err = t.train(ctx, a, take); err != nil {
		return nil, err
	}
	if err := t.check(a); err != nil {
		return nil, err
	}
	manifest, err := t.publish(ctx, a)
	if err != nil {
		return nil, err
	}
	return t.commit(ctx, a.execution, manifest)
}

// attempt is one try at an execution, filled in as it goes on.
type attempt struct {
	worker.Task
	execution execution
	desk      desk
	started   time.Time

	checkpoints *storage.Checkpoints // of the execution; nil before it was looked for one
	resumed     int                  // step of the checkpoint that it goes on from; 0: from the start
	saves       bool                 // there are checkpoints, of this attempt or of another

	assignment module.Assignment // what the module is told
	outcome    guest.Outcome     // what the module reported
}
