package trainer

import (
	"context"
	"maps"
	"path"
	"regexp"
	"slices"
	"strings"

	"github.com/stoker-ml/stoker/events"
	"github.com/stoker-ml/stoker/functions/execution"
	"github.com/stoker-ml/stoker/functions/internal/mask"
	"github.com/stoker-ml/stoker/functions/module"
	"github.com/stoker-ml/stoker/functions/pipeline"
	"github.com/stoker-ml/stoker/functions/runner"
	"github.com/stoker-ml/stoker/functions/runs/result"
	"github.com/stoker-ml/stoker/functions/worker"
	"github.com/stoker-ml/stoker/storage"
)

// Trainer is the worker.Function that trains models, and an execution.Component.
type Trainer struct {
	executor *execution.Executor
	opts     Options
}

// Options of a Trainer.
type Options struct {
	// An interpreter that has TensorFlow, to run models from their files too; "" for none.
	Python string

	// Fallback returns an interpreter to use if Go's reader can't execute a module's model, "" for
	// none; nil: there is none.
	Fallback func(ctx context.Context, source module.Source) string
}

// New returns a trainer that executes its jobs with x.
func New(x *execution.Executor, opts Options) *Trainer { return &Trainer{executor: x, opts: opts} }

// Name returns the function whose jobs a trainer handles: train.
func (t *Trainer) Name() events.Function { return events.FunctionTrain }

// Handle works on one train job, or ensures that a cancelled one has no result.
func (t *Trainer) Handle(ctx context.Context, task worker.Task) ([]events.Event, error) {
	return t.executor.Execute(ctx, task, t)
}

// Limits returns how often the module may fail. A job whose pipeline does not parse is not retried.
func (t *Trainer) Limits(job events.Job) worker.Limits {
	spec, err := pipeline.FromJSON(job.Spec)
	if err != nil {
		return worker.Limits{Attempts: 1, Crashes: 1}
	}
	return worker.Limits{Attempts: spec.Trainer.MaxAttempts, Crashes: spec.Trainer.MaxCrashes, Lost: spec.Trainer.MaxLost}
}

// Failed makes the event of a job that is given up.
func (t *Trainer) Failed(task worker.Task, failure *events.Failure) events.Event {
	return events.NewJobFailed(task.Job, task.Attempt, failure)
}

// outputs are TFX's keys of a Trainer's outputs, with their types.
var outputs = map[string]string{modelKey: "Model", modelRunKey: "ModelRun"}

const (
	modelKey    = "model"
	modelRunKey = "model_run"
)

// Describe parses the job's pipeline.
func (t *Trainer) Describe(job events.Job) (execution.Description, error) {
	spec, err := pipeline.FromJSON(job.Spec)
	if err != nil {
		return execution.Description{}, execution.InputFailure(err)
	}
	return execution.Description{
		Component: "Trainer", Outputs: outputs, Spec: spec, Reads: job.Inputs,
		Args: []pipeline.Args{spec.Trainer.TrainArgs, spec.Trainer.EvalArgs}, Resources: spec.Trainer.Resources, Hosts: spec.Trainer.Resources.Workers,
	}, nil
}

// Identity returns everything that determines a model.
func (t *Trainer) Identity(e execution.Execution) any {
	return identityOf(e.Job, e.Spec, e.Module, e.Inputs)
}

// Start refuses a job whose inputs alone are too large for an event, because no training could
// change that.
func (t *Trainer) Start(_ context.Context, a *execution.Attempt) (execution.Work, error) {
	work := &training{Attempt: a, opts: t.opts}
	return work, execution.ValidateResult(work.result())
}

// training is one attempt at a training.
type training struct {
	*execution.Attempt
	opts Options
	// Patterns of raw evaluation rows, if the job trains on transformed ones and has both.
	raw        []string
	synthetic  [][]byte          // raw rows made for a job that lacks raw examples
	assignment module.Assignment // the module's
	outcome    runner.Outcome    // the module's
	// How the model's files compare with the model; nil if the pipeline asks for no comparison.
	skew  *events.Skew
	notes []string // requested outputs that are missing, and why
}

// Settled reports that a training always has work to do.
func (t *training) Settled() bool { return false }

// Resumes reports that a training resumes from its checkpoints.
func (t *training) Resumes() bool { return true }

// Run runs the module once.
func (t *training) Run(ctx context.Context) (err error) {
	if err := t.stageRaw(ctx); err != nil {
		return err
	}
	if t.assignment, err = assign(ctx, t.Attempt); err != nil {
		return err
	}
	if err := t.synthesize(ctx); err != nil {
		return err
	}
	t.Report(events.Progress{Phase: "starting"})
	session, err := t.OpenSession(ctx, execution.SessionOptions{KeepLog: true})
	if err != nil {
		return err
	}
	defer session.Close()
	t.outcome, err = session.Run(ctx, t.assignment, t.Handle)
	return err
}

// result returns the training's result besides its artifacts.
func (t *training) result() result.Result {
	made := t.Result()
	made.Metrics, made.BaseModel, made.Skew, made.Notes = t.outcome.Metrics, baseModel(t.Execution), t.skew, t.notes
	made.Hyperparameters, _ = t.assignment.Hyperparameters["values"].(map[string]any)
	if len(t.outcome.Settings) > 0 {
		made.Settings = mask.JSON(t.outcome.Settings)
	}
	return made
}

// baseModel returns the address of the model that the training starts from, "" for none.
func baseModel(e execution.Execution) string {
	for _, in := range e.Inputs {
		if in.Key == execution.BaseModel {
			return in.Listing.Ref.String()
		}
	}
	return ""
}

// Event makes the event of a trained model. It is cached if another job did the work.
func (t *Trainer) Event(job events.Job, done execution.Committed, made result.Result) events.Event {
	model := done.Manifest.Outputs[modelKey]
	return events.NewModelTrained(job, &events.ModelTrained{
		Model:           events.Model{URI: model.URI, Digest: model.Digest, Formats: formats(model)},
		ModelRun:        done.Manifest.Outputs[modelRunKey].URI,
		EvalModel:       evalModel(model),
		Execution:       done.Manifest.Execution,
		Generation:      done.Commit.Generation,
		Cached:          made.Job != job.ID,
		Metrics:         made.Metrics,
		Inputs:          made.Inputs,
		Hyperparameters: made.Hyperparameters,
		Module:          made.Module,
		BaseModel:       made.BaseModel,
		Settings:        made.Settings,
		Skew:            made.Skew,
		Notes:           made.Notes,
		Started:         made.Started,
		Finished:        made.Finished,
		Attempts:        made.Attempts,
	})
}

// formatName matches Format-Serving, Format-TFMA and the like.
var formatName = regexp.MustCompile(`^Format-[A-Za-z0-9]+$`)

// formats returns the directories at the top of a Model artifact that are named as TFX names
// formats; all others are the module's own.
func formats(model storage.Output) []string {
	found := map[string]bool{}
	for _, file := range model.Files {
		if format, _, ok := strings.Cut(path.Clean(file.Path), "/"); ok && formatName.MatchString(format) {
			found[format] = true
		}
	}
	return slices.Sorted(maps.Keys(found))
}

// evalModel returns the path of the model for model analysis, "" if the module left none.
func evalModel(model storage.Output) string {
	const format = "Format-TFMA"
	if !slices.Contains(formats(model), format) {
		return ""
	}
	return model.URI + "/" + format
}
