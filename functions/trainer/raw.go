package trainer

import (
	"context"
	"errors"
	"fmt"
	"path"
	"path/filepath"

	"github.com/stoker-ml/stoker/events"
	"github.com/stoker-ml/stoker/functions/pipeline"
	"github.com/stoker-ml/stoker/storage"
)

// stageRaw copies raw evaluation rows to the desk, of a job that trains on transformed ones and was told of both: the first file
// of each split, since the first rows are all that is compared. They decide nothing of the result, so they are none of the
// execution's inputs, and a job does without those that can't be read.
func (t *Trainer) stageRaw(ctx context.Context, a *attempt) error {
	if !bool(a.execution.spec.Trainer.Skew.Check) || !transformed(a.Job) {
		return nil
	}
	for _, in := range rawRows(a.Job.Inputs, a.execution.spec.Trainer.EvalArgs) {
		err := t.stageFirst(ctx, a, in)
		if errors.Is(err, storage.ErrUnavailable) || ctx.Err() != nil {
			return storeFailure(fmt.Errorf("raw %s: %w", in.key, err))
		}
		if err != nil {
			a.execution.log.Warn("raw rows are not compared", "input", in.key, "split", in.split, "error", err)
			a.raw = nil
			return nil
		}
		a.raw = append(a.raw, filepath.Join(a.desk.in(in.dir), "*"))
	}
	return nil
}

// rawRows are the splits of the raw examples that a model is evaluated on.
func rawRows(in events.Inputs, eval pipeline.Args) []input {
	var all []input
	for i, artifact := range in.Examples {
		if artifact.Payload() != events.PayloadExample {
			return nil
		}
		for _, split := range eval.Splits {
			if artifact.Has(split) {
				dir := path.Join(fmt.Sprintf("raw-%d", i), splitFolder+split)
				all = append(all, splitOf(fmt.Sprintf("examples[%d]", i), dir, artifact, split))
			}
		}
	}
	return all
}

func (t *Trainer) stageFirst(ctx context.Context, a *attempt, in input) error {
	listing, err := t.listOne(ctx, in)
	if err != nil {
		return err
	}
	if len(listing.Files) > 1 {
		listing.Files = listing.Files[:1]
	}
	_, err = storage.StageIn(ctx, t.store, listing.Ref, a.desk.in(in.dir), storage.StageOptions{Listing: &listing})
	return err
}
