package trainer

import (
	"context"
	"fmt"

	"github.com/stoker-ml/stoker/events"
	"github.com/stoker-ml/stoker/storage"
)

// resume lays out what earlier attempts have left for the module to go on from. That a store is away is no reason to begin
// anew: then another attempt comes later.
func (t *Trainer) resume(ctx context.Context, a *attempt) error {
	e := a.execution
	a.checkpoints = storage.OpenCheckpoints(e.store, e.place(a.Attempt.ID), a.Job.ID, a.Attempt.Number)
	loaded, err := a.checkpoints.Load(ctx, a.desk.working())
	if err != nil {
		return events.Fail(events.FailureUnavailable, fmt.Errorf("resume: %w", err))
	}
	log := t.opts.Logger.With("job", a.Job.ID, "attempt", a.Attempt.ID)
	for _, why := range loaded.Passed {
		log.Warn("a checkpoint is passed over", "error", why)
	}
	a.saves = loaded.Found() || len(loaded.Passed) > 0 || a.Attempt.Number > 1
	if !loaded.Found() {
		return nil
	}
	a.resumed = loaded.Step
	log.Info("going on from a checkpoint", "step", loaded.Step, "left_by", loaded.Attempt)
	a.Report(events.Progress{Phase: "resuming", Step: loaded.Step})
	return nil
}

// forget removes the checkpoints of an execution that is committed. What stays behind is garbage for later.
func (t *Trainer) forget(ctx context.Context, a attempt) {
	if !a.saves {
		return
	}
	if err := storage.RemoveCheckpoints(ctx, a.execution.store, a.execution.place("")); err != nil {
		t.opts.Logger.Warn("checkpoints are left in the store", "execution", a.execution.id, "error", err)
	}
}
