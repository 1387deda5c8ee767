package trainer

import (
	"cmp"
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
	Digest(ctx context.Context, source module.Source) (string, error)
	// Run works on one assignment. Errors are *guest.Errors.
	Run(ctx context.Context, a module.Assignment, limits guest.Limits, on func(module.Message)) (guest.Outcome, error)
}

// PythonEnv names the environment variable that says which Python interpreter has TensorFlow.
const PythonEnv = "STOKER_PYTHON"

// Options of a Trainer.
type Options struct {
	Root    storage.Ref   // where artifacts go: <root>/<pipeline>/Trainer/<output>/<execution>/<attempt>
	WorkDir string        // holds one folder for each running attempt; default: the system's temporary folder
	Grace   time.Duration // what a module has to write a checkpoint when it is told to leave; default: guest.DefaultGrace
	Python  string        // an interpreter that has TensorFlow, to ask models in their files too; "" for none
	Logger  *slog.Logger
	Now     func() time.Time
}

// New returns a trainer that reads and writes store and runs modules in g.
func New(store storage.Store, g Guest, opts Options) *Trainer {
	if opts.Logger == nil {
		opts.Logger = slog.New(slog.DiscardHandler)
	}
	opts.Grace = cmp.Or(opts.Grace, guest.DefaultGrace)
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
	return facts, unreadable(task.Attempt, err)
}

// work is the walk of a job: list the inputs, know the execution, skip what is done already; else do it, and tell.
func (t *Trainer) work(ctx context.Context, task worker.Task) ([]events.Fact, error) {
	e, err := t.identify(ctx, task, storage.Fenced(t.store, task.Prove))
	if err != nil {
		return nil, err
	}
	done, err := t.committed(ctx, &e)
	if err != nil {
		return nil, e.failed(err)
	}
	if done == nil {
		if done, err = t.execute(ctx, task, e); err != nil {
			return nil, e.failed(err)
		}
	}
	return []events.Fact{trained(task.Job, *done)}, nil
}

// identify reads what the job asks for and lists its inputs, to know which execution it is. All that is written for it goes
// through fenced.
func (t *Trainer) identify(ctx context.Context, task worker.Task, fenced storage.Store) (execution, error) {
	job := task.Job
	spec, err := pipeline.FromJSON(job.Spec)
	if err != nil {
		return execution{}, inputFailure(err)
	}
	inputs, err := t.list(ctx, job, spec)
	if err != nil {
		return execution{}, err
	}
	module, err := t.guest.Digest(ctx, spec.Module.Source())
	if err != nil {
		return execution{}, moduleFailure(err, "")
	}
	id, err := identityOf(job, spec, module, inputs).digest()
	return execution{
		id: id, module: module, root: t.opts.Root.Join(job.Pipeline, "Trainer"), spec: spec, inputs: inputs, job: job,
		attempt: task.Attempt.ID, fenced: fenced, log: t.logger(task).With("execution", id), generation: job.Generation,
	}, err
}

// logger says with every line what is being worked on.
func (t *Trainer) logger(task worker.Task) *slog.Logger {
	return t.opts.Logger.With(
		"job", task.Job.ID, "pipeline", task.Job.Pipeline, "run", task.Job.Run, "attempt", task.Attempt.ID)
}

// execute does the work of an execution that nobody has done yet, and returns what was committed: ours, or that of
// another attempt which came first.
func (t *Trainer) execute(ctx context.Context, task worker.Task, e execution) (done *result, err error) {
	desk, err := t.openDesk(task.Attempt)
	if err != nil {
		return nil, err
	}
	defer desk.clear()
	a := attempt{Task: task, execution: e, desk: desk, started: t.opts.Now()}
	if err := checkStory(tell(a, a.started)); err != nil {
		return nil, err // inputs alone that no fact could tell of: nothing that a training could change
	}
	if err := t.stageIn(ctx, a); err != nil {
		return nil, err
	}
	if err := t.stageRaw(ctx, &a); err != nil {
		return nil, err
	}
	if err := t.resume(ctx, &a); err != nil {
		return nil, err
	}
	if a.assignment, err = assign(a); err != nil {
		return nil, a.atAddresses(err)
	}
	err = t.saving(ctx, &a, func(take func(step int)) (err error) {
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
	if err := t.checkSkew(ctx, &a); err != nil {
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

	checkpoints        *storage.Checkpoints // of the execution; nil before it was looked for one
	resumed            int                  // step of the checkpoint that it goes on from; 0: from the start
	mayHaveCheckpoints bool                 // of this attempt or of another

	raw        []string          // patterns of raw evaluation rows, where the job trains on transformed ones and was told of both
	assignment module.Assignment // what the module is told
	outcome    guest.Outcome     // what the module reported
	skew       *events.Skew      // how the model's files compare with it; nil if that is not asked for
}
