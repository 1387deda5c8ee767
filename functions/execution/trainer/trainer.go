package trainer

import (
	"context"

	"github.com/stoker-ml/stoker/events"
	"github.com/stoker-ml/stoker/functions/execution"
	"github.com/stoker-ml/stoker/functions/group"
	"github.com/stoker-ml/stoker/functions/guest"
	"github.com/stoker-ml/stoker/functions/module"
	"github.com/stoker-ml/stoker/functions/pipeline"
	"github.com/stoker-ml/stoker/functions/worker"
)

// Trainer is the worker.Function that trains models, and an execution.Kind.
type Trainer struct {
	shop *execution.Workshop
	opts Options
}

// Options of a Trainer.
type Options struct {
	Python string // an interpreter that has TensorFlow, to ask models in their files too; "" for none

	// Fallback gives one to ask where Go's reader can't execute a module's model, "" for none; nil: there is none.
	Fallback func(ctx context.Context, source module.Source) string
}

// New returns a trainer that works in a workshop.
func New(shop *execution.Workshop, opts Options) *Trainer { return &Trainer{shop: shop, opts: opts} }

// Name says that a trainer takes train jobs.
func (t *Trainer) Name() events.Function { return events.FunctionTrain }

// Limits says how often the module may fail. A job whose pipeline does not parse fails for good at once.
func (t *Trainer) Limits(job events.Job) worker.Limits {
	spec, err := pipeline.FromJSON(job.Spec)
	if err != nil {
		return worker.Limits{Attempts: 1, Crashes: 1}
	}
	return worker.Limits{Attempts: spec.Trainer.MaxAttempts, Crashes: spec.Trainer.MaxCrashes, Lost: spec.Trainer.MaxLost}
}

// Failed tells of a job that is given up.
func (t *Trainer) Failed(task worker.Task, failure *events.Failure) events.Fact {
	return events.NewJobFailed(task.Job, task.Attempt, failure)
}

// Handle works on one train job, or sees to it that nothing comes of one that is cancelled.
func (t *Trainer) Handle(ctx context.Context, task worker.Task) ([]events.Fact, error) {
	return t.shop.Handle(ctx, task, t)
}

// outputs are TFX's keys of what a Trainer publishes, with its types.
var outputs = map[string]string{modelKey: "Model", modelRunKey: "ModelRun"}

const (
	modelKey    = "model"
	modelRunKey = "model_run"
)

// Identify reads what the job asks for and lists its inputs, to know which execution it is.
func (t *Trainer) Identify(ctx context.Context, task worker.Task) (execution.Execution, error) {
	spec, err := pipeline.FromJSON(task.Job.Spec)
	if err != nil {
		return execution.Execution{}, execution.InputFailure(err)
	}
	inputs, err := t.shop.List(ctx, task.Job, spec.Trainer.TrainArgs, spec.Trainer.EvalArgs)
	if err != nil {
		return execution.Execution{}, err
	}
	module, err := t.shop.Digest(ctx, spec)
	if err != nil {
		return execution.Execution{}, err
	}
	return t.shop.Execution(task, execution.Known{
		Component: "Trainer", Outputs: outputs, Spec: spec, Module: module, Inputs: inputs,
		Identity: identityOf(task.Job, spec, module, inputs),
	})
}

// Work trains the model of an execution that nobody has trained yet, and returns what was committed.
func (t *Trainer) Work(ctx context.Context, task worker.Task, e execution.Execution) (_ *execution.Result, err error) {
	a := attempt{}
	if a.Attempt, err = t.shop.Attempt(task, e); err != nil {
		return nil, err
	}
	defer a.CloseWith(&err)
	if err := execution.CheckStory(tell(a, a.Started)); err != nil {
		return nil, err // inputs alone that no fact could tell of: nothing that a training could change
	}
	if err := a.Together(ctx, e.Spec.Trainer.Resources); err != nil {
		return nil, err
	}
	if err := a.StageIn(ctx); err != nil {
		return nil, err
	}
	if err := stageRaw(ctx, &a); err != nil {
		return nil, err
	}
	if err := a.Resume(ctx); err != nil {
		return nil, err
	}
	if a.assignment, err = assign(a); err != nil {
		return nil, err
	}
	return a.Outcome(ctx, func(take execution.Take) (*execution.Result, error) { return t.finish(ctx, a, take) })
}

// Follow does a member's part of a training: what the leader stages, goes on from and tells its module, this host does too.
func (t *Trainer) Follow(ctx context.Context, on *execution.Attempt, turn *group.Turn) (err error) {
	a := attempt{Attempt: on}
	if err := a.StageIn(ctx); err != nil {
		return err
	}
	if err := a.Resume(ctx); err != nil {
		return err
	}
	if a.assignment, err = assign(a); err != nil {
		return err
	}
	return a.Attempt.Follow(ctx, a.assignment, a.Execution.Spec.Trainer.Resources, turn)
}

// finish runs the module, and makes what it leaves the outcome of the execution. take is called for each checkpoint.
func (t *Trainer) finish(ctx context.Context, a attempt, take execution.Take) (_ *execution.Result, err error) {
	if a.outcome, err = a.Run(ctx, a.assignment, a.Execution.Spec.Trainer.Resources, take); err != nil {
		return nil, err
	}
	if err := t.check(ctx, &a); err != nil {
		return nil, err
	}
	manifest, err := a.Publish(ctx, tell(a, a.Now()))
	if err != nil {
		return nil, err
	}
	return a.Commit(ctx, manifest)
}

// attempt is one try at a training, filled in as it goes on.
type attempt struct {
	*execution.Attempt
	raw        []string          // patterns of raw evaluation rows, where the job trains on transformed ones and was told of both
	assignment module.Assignment // what the module is told
	outcome    guest.Outcome     // what the module reported
	skew       *events.Skew      // how the model's files compare with it; nil if that is not asked for
	notes      []string          // what was asked for and is not there, and why
}
