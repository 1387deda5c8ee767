package worker

import (
	"context"
	"errors"
	"fmt"

	"github.com/stoker-ml/stoker/events"
)

// publish tells the facts that the task led to. It returns the generation that the task's result must have instead, if the log
// has told another one under the same name: one that was lost before anyone knew how often there had been one. 0: all is told.
// It returns an over, and publishes nothing, if the job's outcome or its run's end has come into the log meanwhile.
func (a attempt) publish(ctx context.Context, facts []events.Fact) (generation int, err error) {
	if len(facts) > 0 {
		if err := a.isOver(ctx); err != nil {
			return 0, err
		}
	}
	for _, fact := range facts {
		if err := a.task.Prove(); err != nil {
			return 0, err
		}
		receipt, err := a.box.Publish(ctx, fact)
		if err != nil {
			return 0, unpublished(fact, err)
		}
		uri, generation := result(fact.Data)
		if uri == "" || !receipt.Duplicate {
			continue
		}
		same, err := a.tells(ctx, receipt.Sequence, uri)
		if err != nil {
			return 0, err
		}
		if !same {
			return generation + 1, nil
		}
	}
	return 0, nil
}

// result is the artifact that a fact names as what a job came to, and its generation; "" if it names none.
func result(data events.Data) (uri string, generation int) {
	switch d := data.(type) {
	case *events.ModelTrained:
		return d.Model.URI, d.Generation
	case *events.HParamsReady:
		return d.Hyperparameters, d.Generation
	}
	return "", 0
}

// tells says whether a fact of the log names that result.
func (a attempt) tells(ctx context.Context, sequence uint64, uri string) (bool, error) {
	for recorded, err := range a.box.Read(ctx, events.Query{From: sequence, Until: sequence + 1}) {
		if err != nil {
			return false, fmt.Errorf("read fact %d, which was told before: %w", sequence, err)
		}
		told, _ := result(recorded.Fact.Data)
		return told == uri, nil
	}
	return false, fmt.Errorf("read fact %d, which was told before: %w", sequence, events.ErrNotFound)
}

// unpublished says what a fact that the bus did not take means for its job: one that is not valid, or too large, never
// will be taken, however often the job is done. A bus that lacks a permission for us may have it tomorrow.
func unpublished(fact events.Fact, err error) error {
	err = fmt.Errorf("publish %s of run %s: %w", fact.Data.Kind(), fact.Run, err)
	if _, invalid := errors.AsType[*events.Invalid](err); invalid || errors.Is(err, events.ErrTooLarge) {
		return events.Fail(events.FailureCheck, err)
	}
	return err
}
