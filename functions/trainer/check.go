package trainer

import (
	"github.com/stoker-ml/stoker/events"
	"github.com/stoker-ml/stoker/functions/execution"
)

// check refuses what is no model, what lacks a format that was asked for, and what could not be published or told of: after the
// commit it would be too late. TFX takes an empty folder for a model.
func check(a *attempt) error {
	a.Report(events.Progress{Phase: "checking"})
	if err := CheckModel(a.assignment.ServingModelDir, a.Execution.Spec.Trainer.Model); err != nil {
		return execution.CheckFailure(err)
	}
	if err := checkExports(a); err != nil {
		return execution.CheckFailure(err)
	}
	return a.CheckTold(tell(*a, a.Started))
}
