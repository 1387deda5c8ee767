package trainer

import (
	"context"
	"errors"

	"github.com/stoker-ml/stoker/compute/skew"
	"github.com/stoker-ml/stoker/events"
	"github.com/stoker-ml/stoker/functions/execution"
	"github.com/stoker-ml/stoker/functions/module"
	"github.com/stoker-ml/stoker/functions/module/modelcheck"
	"github.com/stoker-ml/stoker/functions/pipeline"
)

// noteDevice notes a training that asked for a GPU and had none.
func (a *attempt) noteDevice() {
	if a.Execution.Spec.Trainer.Resources.WantsGPU() && a.outcome.Device == module.DeviceCPU {
		a.notes = append(a.notes, "trained on a CPU: the class is gpu, and the worker had no GPU that the module could use")
		a.Execution.Log.Warn("a job of class gpu trained on a CPU")
	}
}

// check refuses what is no model, what lacks a format that was asked for, a model whose files answer otherwise than the model that was
// trained, and what could not be published or told of: after the commit it would be too late. TFX takes an empty folder for a model.
//
// The files are read and executed in a child process: see functions/module/modelcheck.
func (t *Trainer) check(ctx context.Context, a *attempt) error {
	a.Report(events.Progress{Phase: "checking"})
	a.noteDevice()
	exports, err := exportsLeft(a)
	if err != nil {
		return execution.CheckFailure(err)
	}
	spec := a.Execution.Spec.Trainer
	q := modelcheck.Question{Model: &modelcheck.Model{Dir: a.assignment.ServingModelDir, Any: spec.Model == pipeline.ModelAny}, Exports: exports}
	var report skew.Report
	if spec.Skew.Check {
		if q.Skew, report.Note, err = t.skewQuestion(ctx, *a); err != nil {
			return execution.CheckFailure(err)
		}
	}
	answer, err := a.Check(ctx, q, spec.Resources)
	if err != nil {
		return err
	}
	if answer.Refused != "" {
		return execution.CheckFailure(errors.New(answer.Refused))
	}
	if answer.Skew != nil {
		report = *answer.Skew
	}
	if spec.Skew.Check {
		if err := a.compared(ctx, report); err != nil {
			return err
		}
	}
	return a.CheckTold(tell(*a, a.Started))
}
