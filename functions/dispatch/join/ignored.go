package join

import (
	"fmt"
	"slices"

	"github.com/stoker-ml/stoker/events"
	"github.com/stoker-ml/stoker/functions/pipeline"
)

// Ignored returns why an event of the run that is in the log has no effect on the run, and never will have; "" if it has one, or may
// still have one. The answer follows from the join and the log alone, so that it need not be stored: a join only goes forward, and of
// several events of one kind it keeps the one that the log holds first. p is the pipeline as it is deployed now; it counts while the
// run waits.
func (j Join) Ignored(p pipeline.Pipeline, event Pinned) string {
	if j.Has(event) {
		return ""
	}
	if have, there := j.Fact(event.Kind); there && have.Sequence < event.Sequence {
		return fmt.Sprintf("the run has its %s already: event %d", event.Kind, have.Sequence)
	}
	switch j.State {
	case Waiting:
		return Meaningless(p, event.Kind)
	case Ended:
		return "the run had ended: " + j.Ending.Message
	}
	return fmt.Sprintf("the run had all that it waits for with event %d", j.Completed())
}

// Meaningless returns why no run of the pipeline takes events of a kind; "" if runs do.
func Meaningless(p pipeline.Pipeline, kind events.Kind) string {
	if kind == events.KindHParamsReady && p.Trainer.Hyperparameters == pipeline.HyperparametersNone {
		return "pipeline " + p.Name + " takes no hyperparameters: its trainer.hyperparameters is none"
	}
	return ""
}

// Awaits reports whether runs of the pipeline wait for an event of the kind.
func Awaits(p pipeline.Pipeline, kind events.Kind) bool { return slices.Contains(waitFor(p), kind) }
