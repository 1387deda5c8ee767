package execution

import (
	"context"
	"errors"
	"fmt"

	"github.com/stoker-ml/stoker/events"
	"github.com/stoker-ml/stoker/functions/group"
	"github.com/stoker-ml/stoker/functions/guest"
	"github.com/stoker-ml/stoker/functions/module"
	"github.com/stoker-ml/stoker/functions/pipeline"
	"github.com/stoker-ml/stoker/functions/worker"
	"github.com/stoker-ml/stoker/storage"
)

// Together has the other hosts of the worker's group prepare for the attempt too, if it has one and the job asks for several workers: one
// is on each host. It comes first of all that an attempt does, so that all hosts stage the inputs at the same time.
func (a *Attempt) Together(ctx context.Context, r pipeline.Resources) (err error) {
	leader := a.shop.opts.Group
	switch {
	case leader == nil || r.Workers < 2:
		return nil
	case r.Workers != leader.Size():
		return InputFailure(fmt.Errorf("resources.workers: %d: the workers of class %s are groups of %d hosts: ask for that many, for 1, or for another class",
			r.Workers, a.Job.Class, leader.Size()))
	}
	a.together, err = leader.Begin(ctx, group.Order{Job: a.Job, Attempt: a.Task.Attempt, Execution: a.Execution.ID})
	return err
}

// runModule runs the module here, and where all hosts work together when all are ready.
func (a *Attempt) runModule(ctx context.Context, told module.Assignment, limits guest.Limits, on func(module.Message)) (outcome guest.Outcome, err error) {
	if a.together == nil {
		return a.shop.guest.Run(ctx, told, limits, on)
	}
	if err := a.together.Ready(ctx, a.from); err != nil {
		return guest.Outcome{}, err
	}
	told.Cluster = &module.Cluster{Workers: a.together.Cluster()}
	limits.Opened = a.together.Print
	err = a.together.Run(ctx, func(ctx context.Context) (err error) {
		outcome, err = a.shop.guest.Run(ctx, told, limits, on)
		return err
	})
	return outcome, err
}

// Follower is a Kind of whose jobs other hosts than the worker's do a part.
type Follower interface {
	Kind
	// Follow does a member's part of an attempt, which is there: it stages, resumes, and runs the module by a.Follow.
	Follow(ctx context.Context, a *Attempt, turn *group.Turn) error
}

// Follow does a member's part of the job that the leader of its group has. The leader has proved that the job is its own, and nothing is
// written to the store here: whatever tries finds the lease lost. Errors are events.Failures.
func (w *Workshop) Follow(ctx context.Context, kind Follower, turn *group.Turn) error {
	task := worker.Task{
		Job: turn.Job, Attempt: turn.Attempt, Report: func(events.Progress) {},
		Prove: func() error { return fmt.Errorf("a member of a group writes nothing: %w", events.ErrLeaseLost) },
	}
	e, err := identify(ctx, task, kind)
	if err != nil {
		return err
	}
	if e.ID != turn.Execution {
		return e.failed(events.Fail(events.FailureUnavailable, fmt.Errorf("execution %s here, and %s at the leader: %w", e.ID, turn.Execution, storage.ErrChanged)))
	}
	a, err := w.Attempt(task, e)
	if err != nil {
		return err
	}
	err = kind.Follow(ctx, a, turn)
	a.CloseWith(&err)
	return e.failed(err)
}

// Follow is a member's Run: the module starts when all hosts are ready, and its model is nobody's.
func (a *Attempt) Follow(ctx context.Context, told module.Assignment, r pipeline.Resources, turn *group.Turn) error {
	code, err := a.code(ctx)
	if err != nil {
		return err
	}
	if err := turn.Ready(ctx, a.from); err != nil {
		return err
	}
	told.Module, told.Trace, told.Exports, told.Predictions = code.source, traced(ctx), nil, nil
	told.Cluster = &module.Cluster{Workers: turn.Cluster, Index: turn.Index}
	limits := guest.Limits{Timeout: r.Timeout.Duration(), MemoryBytes: r.Memory.Bytes(), Grace: a.shop.opts.Grace, Live: turn.Log}
	_, err = a.shop.guest.Run(ctx, told, limits, func(module.Message) {})
	if stopped, ok := errors.AsType[*guest.Error](err); ok && stopped.Kind == guest.KindStopped {
		return fmt.Errorf("the module was stopped: %w", context.Cause(ctx))
	}
	if err != nil {
		return moduleFailure(err, "")
	}
	return nil
}
