package trainer

import (
	"fmt"
)

// exportsLeft are the formats that the module should have left. A format that the module says its model can't be written in is noted,
// unless the pipeline requires it.
func exportsLeft(a *attempt) (formats []string, err error) {
	for _, e := range a.Execution.Spec.Trainer.Exports {
		why, unwritten := a.outcome.Unwritten[e.Format]
		switch {
		case !unwritten:
			formats = append(formats, e.Format)
		case bool(e.Required):
			return nil, fmt.Errorf("%s is required, and the model can't be written so: %s", e.Format, why)
		default:
			a.notes = append(a.notes, a.shortened(fmt.Sprintf("no %s: %s", e.Format, why)))
			a.Execution.Log.Warn("a format is not written", "format", e.Format, "why", why)
		}
	}
	return formats, nil
}
