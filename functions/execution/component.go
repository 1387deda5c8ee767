package execution

import (
	"context"

	"github.com/stoker-ml/stoker/events"
	"github.com/stoker-ml/stoker/functions/module"
	"github.com/stoker-ml/stoker/functions/pipeline"
	"github.com/stoker-ml/stoker/functions/runs/result"
)

// Component is what differs between the kinds of executions: TFX's Trainer and Tuner. The Executor
// calls the hooks in the order that they have here. Each may be called again for the same job, by
// any worker.
type Component interface {
	// Describe parses the job's pipeline. It reads nothing.
	Describe(job events.Job) (Description, error)
	// Identity returns everything that determines the result of an execution; its id is the SHA-256
	// of that, as JSON. Two jobs with equal identities are one execution. It reads nothing.
	Identity(e Execution) any
	// Start begins the work of an attempt at an execution that has no result yet.
	Start(ctx context.Context, a *Attempt) (Work, error)
	// Event makes the event of a job whose execution is committed.
	Event(job events.Job, done Committed, made result.Result) events.Event
}

// Description is what a Component knows of a job before the job's inputs are listed.
type Description struct {
	// The component's name in TFX, below which its artifacts are stored: Trainer.
	Component string
	Outputs   map[string]string // TFX's keys of its outputs, with their types in TFX: model, Model
	Spec      pipeline.Pipeline
	Reads     events.Inputs      // the job's inputs, or those of them that count
	Args      []pipeline.Args    // arguments whose splits of the examples are read
	Resources pipeline.Resources // that the module may use
	// Number of hosts that run the module together; 0 or 1: this one alone.
	Hosts int
}

// Work is one attempt's work on an execution, from the staged inputs to the outputs in the
// workspace.
type Work interface {
	// Settled reports whether the result is known and only has to be checked and published.
	Settled() bool
	// Resumes reports whether the module resumes from the execution's checkpoints.
	Resumes() bool
	// Run runs the module, in sessions of the attempt.
	Run(ctx context.Context) error
	// Check refuses outputs that don't keep the component's promises, and returns the result to
	// publish with them.
	Check(ctx context.Context) (result.Result, error)
}

// Reuser is a Component whose jobs may use the result of an earlier execution instead of one of
// their own.
type Reuser interface {
	Component
	// Earlier returns the address of an artifact of that execution; "" if the job is to have a
	// result of its own.
	Earlier(e Execution) string
	// Reusable reports whether the job may still use the earlier result.
	Reusable(ctx context.Context, a *Attempt, earlier result.Result) (bool, error)
}

// Distributed is a Component whose module may run on several hosts at once.
type Distributed interface {
	Component
	// Assign returns the assignment of an attempt whose inputs are staged, the same on each host.
	Assign(ctx context.Context, a *Attempt) (module.Assignment, error)
}
