package trainer

import (
	"context"
	"fmt"
	"path/filepath"

	"github.com/stoker-ml/stoker/compute/savedmodel"
	"github.com/stoker-ml/stoker/events"
	"github.com/stoker-ml/stoker/functions/guest"
	"github.com/stoker-ml/stoker/functions/module"
	"github.com/stoker-ml/stoker/functions/worker"
)

// train runs the module and passes on how it gets on.
func (t *Trainer) train(ctx context.Context, task worker.Task, e execution, a module.Assignment) (guest.Outcome, error) {
	task.Report(events.Progress{Phase: "starting"})
	limits := guest.Limits{
		Timeout:     e.spec.Trainer.Resources.Timeout.Duration(),
		MemoryBytes: e.spec.Trainer.Resources.Memory.Bytes(),
	}
	outcome, err := t.guest.Run(ctx, a, limits, func(m module.Message) {
		task.Report(events.Progress{Phase: m.Phase, Step: m.Step, Steps: m.Steps, Metrics: m.Metrics})
	})
	if err != nil {
		return guest.Outcome{}, moduleFailure(fmt.Errorf("module %s: %w", a.Module, err))
	}
	return outcome, nil
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
