package trainer

import (
	"fmt"
	"path/filepath"

	"github.com/stoker-ml/stoker/compute/export"
)

// checkExports refuses a model that lacks a format, or has one that can't be read. A format that the module says its model
// can't be written in is noted, unless the pipeline requires it.
func checkExports(a *attempt) error {
	var there []string
	for _, e := range a.Execution.Spec.Trainer.Exports {
		why, unwritten := a.outcome.Unwritten[e.Format]
		switch {
		case !unwritten:
			there = append(there, e.Format)
		case bool(e.Required):
			return fmt.Errorf("%s is required, and the model can't be written so: %s", e.Format, why)
		default:
			a.notes = append(a.notes, shortened(fmt.Sprintf("no %s: %s", e.Format, why)))
			a.Execution.Log.Warn("a format is not written", "format", e.Format, "why", why)
		}
	}
	return export.Check(filepath.Dir(a.assignment.ServingModelDir), there)
}
