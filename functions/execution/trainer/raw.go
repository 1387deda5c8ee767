package trainer

import (
	"context"
	"errors"
	"fmt"
	"path"
	"path/filepath"

	"github.com/stoker-ml/stoker/events"
	"github.com/stoker-ml/stoker/functions/execution"
	"github.com/stoker-ml/stoker/functions/pipeline"
	"github.com/stoker-ml/stoker/storage"
)

// stageRaw copies raw evaluation rows to the desk, of a job that trains on transformed ones and was told of both: the first file
// of each split, since the first rows are all that is compared. They decide nothing of the result, so they are none of the
// execution's inputs, and a job does without those that can't be read.
func stageRaw(ctx context.Context, a *attempt) error {
	if !bool(a.Execution.Spec.Trainer.Skew.Check) || !execution.Transformed(a.Job) {
		return nil
	}
	for _, in := range rawRows(a.Job.Inputs, a.Execution.Spec.Trainer.EvalArgs) {
		err := a.StageFirst(ctx, in)
		if errors.Is(err, storage.ErrUnavailable) || ctx.Err() != nil {
			return execution.StoreFailure(fmt.Errorf("raw %s: %w", in.Key, err))
		}
		if err != nil {
			a.Execution.Log.WarnContext(ctx, "raw rows are not compared", "input", in.Key, "split", in.Split, "error", err)
			a.raw = nil
			return nil
		}
		a.raw = append(a.raw, filepath.Join(a.Desk.In(in.Dir), "*"))
	}
	return nil
}

// rawRows are the splits of the raw examples that a model is evaluated on.
func rawRows(in events.Inputs, eval pipeline.Args) []execution.Input {
	var all []execution.Input
	for i, artifact := range in.Examples {
		if payload := artifact.Payload(); payload != events.PayloadExample && payload != events.PayloadSequenceExample {
			return nil
		}
		for _, split := range eval.Splits {
			if artifact.Has(split) {
				dir := path.Join(fmt.Sprintf("raw-%d", i), execution.SplitFolder+split)
				all = append(all, execution.SplitOf(fmt.Sprintf("examples[%d]", i), dir, artifact, split))
			}
		}
	}
	return all
}
