package execution

import (
	"context"
	"fmt"

	"github.com/stoker-ml/stoker/events"
	"github.com/stoker-ml/stoker/storage"
)

// Resume lays out what earlier attempts have left for the module to go on from. That a store is away is no reason to begin
// anew: then another attempt comes later.
func (a *Attempt) Resume(ctx context.Context) error {
	e := a.Execution
	a.checkpoints = storage.OpenCheckpoints(e.fenced, e.place(a.Task.Attempt.ID), asked(a.Job), a.Task.Attempt.Number)
	loaded, err := a.checkpoints.Load(ctx, a.Desk.Working())
	if err != nil {
		return events.Fail(events.FailureUnavailable, fmt.Errorf("resume: %w", err))
	}
	for _, why := range loaded.Passed {
		e.Log.WarnContext(ctx, "a checkpoint is passed over", "error", why)
	}
	a.mayHaveCheckpoints = loaded.Found() || len(loaded.Passed) > 0 || a.Task.Attempt.Number > 1
	if !loaded.Found() {
		return nil
	}
	if err := a.Desk.layOutRun(); err != nil {
		return events.Fail(events.FailureUnavailable, fmt.Errorf("resume: %w", err))
	}
	a.Resumed, a.from = loaded.Step, fmt.Sprintf("checkpoint %d of attempt %s", loaded.Number, loaded.Attempt)
	e.Log.InfoContext(ctx, "going on from a checkpoint", "step", loaded.Step, "left_by", loaded.Attempt)
	a.Report(events.Progress{Phase: "resuming", Step: loaded.Step})
	return nil
}

// asked names a job as it was asked for: attempts at one that is tried again by hand are counted anew.
func asked(job events.Job) string {
	if job.Request == "" {
		return job.ID
	}
	return job.ID + " " + job.Request
}

// forget removes the checkpoints of an execution that is committed. What stays behind is garbage for later.
func (a *Attempt) forget(ctx context.Context) {
	if !a.mayHaveCheckpoints {
		return
	}
	if err := storage.RemoveCheckpoints(ctx, a.Execution.fenced, a.Execution.place("")); err != nil {
		a.Execution.Log.WarnContext(ctx, "checkpoints are left in the store", "error", err)
	}
}
