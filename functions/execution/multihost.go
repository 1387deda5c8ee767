package execution

import (
	"context"
	"errors"
	"fmt"

	"github.com/stoker-ml/stoker/events"
	"github.com/stoker-ml/stoker/functions/module"
	"github.com/stoker-ml/stoker/functions/runner"
	"github.com/stoker-ml/stoker/functions/runner/multihost"
	"github.com/stoker-ml/stoker/functions/worker"
	"github.com/stoker-ml/stoker/storage"
)

// joinGroup has the other hosts of the worker's group, each of which runs one worker, prepare for
// the attempt if the job asks for several hosts. It is the first step of the work, so that all
// hosts stage the inputs at the same time.
func (a *Attempt) joinGroup(ctx context.Context) (err error) {
	leader, hosts := a.executor.opts.Group, a.Execution.Hosts
	switch {
	case leader == nil || hosts < 2:
		return nil
	case hosts != leader.Size():
		return InputFailure(fmt.Errorf("resources.workers: %d: the workers of class %s are groups of %d hosts: request that many, 1, or another class",
			hosts, a.Job.Class, leader.Size()))
	}
	a.group, err = leader.Begin(ctx, multihost.Command{Job: a.Job, Attempt: a.Task.Attempt, Execution: a.Execution.ID})
	return err
}

// leadHosts runs the module on this host while the members of the group run theirs, once all are
// ready.
func (a *Attempt) leadHosts(
	ctx context.Context, assignment module.Assignment, limits runner.Limits, on func(module.Message),
) (outcome runner.Outcome, err error) {
	if err := a.group.Ready(ctx, a.from); err != nil {
		return runner.Outcome{}, err
	}
	assignment.Cluster = &module.Cluster{Workers: a.group.Cluster()}
	limits.Opened = a.group.Print
	err = a.group.Run(ctx, func(ctx context.Context) (err error) {
		outcome, err = a.executor.runner.Run(ctx, assignment, limits, on)
		return err
	})
	return outcome, err
}

// followLeader runs a member's module once all hosts are ready. A member's model is not published,
// so the module exports none and compares none.
func (a *Attempt) followLeader(
	ctx context.Context, assignment module.Assignment, limits runner.Limits, on func(module.Message),
) (runner.Outcome, error) {
	if err := a.round.Ready(ctx, a.from); err != nil {
		return runner.Outcome{}, err
	}
	assignment.Exports, assignment.Predictions = nil, nil
	assignment.Cluster = &module.Cluster{Workers: a.round.Cluster, Index: a.round.Index}
	limits.GPU, limits.Live = false, a.round.Log
	return a.executor.runner.Run(ctx, assignment, limits, on)
}

// Follow does a member's part of the job that the group's leader works on. It stages, resumes and
// runs the module as the leader does; the leader's attempt held the job's lease when the round
// began. It writes nothing to the store: any write fails because the lease is not held. Its errors
// are events.Failures.
func (x *Executor) Follow(ctx context.Context, c Distributed, round *multihost.MemberRound) (err error) {
	task := worker.Task{
		Job: round.Job, Attempt: round.Attempt, Report: func(events.Progress) {},
		Prove: func() error {
			return fmt.Errorf("a member of a group does not write to the store: %w", events.ErrLeaseLost)
		},
	}
	e, err := x.Identify(ctx, task, c)
	if err != nil {
		return err
	}
	defer func() { err = e.failed(err) }()
	if e.ID != round.Execution {
		return events.Fail(events.FailureUnavailable, fmt.Errorf("execution %s here, and %s at the leader: %w", e.ID, round.Execution, storage.ErrChanged))
	}
	a, err := x.Open(task, e)
	if err != nil {
		return err
	}
	a.round = round
	defer a.CloseWith(&err)
	if err := a.StageIn(ctx); err != nil {
		return err
	}
	if err := a.loadCheckpoint(ctx); err != nil {
		return err
	}
	assignment, err := c.Assign(ctx, a)
	if err != nil {
		return err
	}
	return a.runMember(ctx, assignment)
}

func (a *Attempt) runMember(ctx context.Context, assignment module.Assignment) error {
	session, err := a.OpenSession(ctx, SessionOptions{})
	if err != nil {
		return err
	}
	defer session.Close()
	_, err = session.Run(ctx, assignment, func(module.Message) {})
	if stopped, ok := errors.AsType[*runner.Error](err); ok && stopped.Kind == runner.KindStopped {
		return fmt.Errorf("the module was stopped: %w", context.Cause(ctx))
	}
	return err
}
