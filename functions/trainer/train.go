package trainer

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"time"

	"github.com/stoker-ml/stoker/compute/savedmodel"
	"github.com/stoker-ml/stoker/events"
	"github.com/stoker-ml/stoker/functions/guest"
	"github.com/stoker-ml/stoker/functions/module"
	"github.com/stoker-ml/stoker/functions/worker"
	"github.com/stoker-ml/stoker/storage"
)

// train runs the module and passes on how it gets on. The module's log is kept whether it succeeds or fails.
func (t *Trainer) train(ctx context.Context, task worker.Task, e execution, d desk, a module.Assignment) (guest.Outcome, error) {
	task.Report(events.Progress{Phase: "starting"})
	limits := guest.Limits{
		Timeout:     e.spec.Trainer.Resources.Timeout.Duration(),
		MemoryBytes: e.spec.Trainer.Resources.Memory.Bytes(),
		LogPath:     d.log(),
	}
	outcome, err := t.guest.Run(ctx, a, limits, func(m module.Message) {
		task.Report(events.Progress{Phase: m.Phase, Step: m.Step, Steps: m.Steps, Metrics: m.Metrics})
	})
	log := t.keepLog(ctx, task, e, d)
	if err != nil {
		return guest.Outcome{}, moduleFailure(err, log)
	}
	return outcome, nil
}

// keepLog sends the module's log to stand beside the attempt's manifest, and returns its address. A log that can't be
// kept is no reason to fail a training; a module that printed nothing has none.
func (t *Trainer) keepLog(ctx context.Context, task worker.Task, e execution, d desk) string {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), keepLogTime)
	defer cancel()
	place := storage.Place{Root: e.root, Execution: e.id, Attempt: task.Attempt.ID}
	err := putFile(ctx, t.store, place.Log(), d.log())
	if err != nil {
		t.opts.Logger.Warn("the module's log is not kept", "attempt", task.Attempt.ID, "error", err)
		return ""
	}
	return place.Log().String()
}

// keepLogTime bounds what a job that is stopping spends on its log.
const keepLogTime = 5 * time.Second

func putFile(ctx context.Context, store storage.Store, ref storage.Ref, path string) error {
	file, err := os.Open(path)
	if err != nil {
		return err
	}
	defer file.Close()
	info, err := file.Stat()
	if err != nil {
		return err
	}
	_, err = store.Put(ctx, ref, file, info.Size())
	return err
}

// check refuses what is no model. TFX takes an empty folder for one.
func (t *Trainer) check(task worker.Task, a module.Assignment) error {
	task.Report(events.Progress{Phase: "checking"})
	if err := savedmodel.Check(a.ServingModelDir); err != nil {
		return events.Fail(events.FailureCheck, fmt.Errorf("%s: %w", filepath.Base(a.ServingModelDir), err))
	}
	return nil
}

// Limits says how often the module may fail.
func (t *Trainer) Limits(job events.Job) worker.Limits {
	spec, err := specOf(job)
	if err != nil {
		return worker.Limits{Attempts: 1, Crashes: 1}
	}
	return worker.Limits{Attempts: spec.Trainer.MaxAttempts, Crashes: spec.Trainer.MaxCrashes}
}
