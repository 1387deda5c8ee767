package trainer

import (
	"context"
	"fmt"

	"golang.org/x/sync/errgroup"

	"github.com/stoker-ml/stoker/events"
	"github.com/stoker-ml/stoker/storage"
)

// atOnce is how many artifacts are listed or staged at a time. Small ones cost a round trip each, and that is all.
const atOnce = 4

// stageIn copies every input to the desk, exactly as it was listed when the execution was identified.
func (t *Trainer) stageIn(ctx context.Context, a attempt) error {
	a.Report(events.Progress{Phase: "staging"})
	staging, ctx := errgroup.WithContext(ctx)
	staging.SetLimit(atOnce)
	for _, in := range a.execution.inputs {
		staging.Go(func() error {
			options := storage.StageOptions{Listing: &in.listing}
			if _, err := storage.StageIn(ctx, t.store, in.listing.Ref, a.desk.in(in.dir), options); err != nil {
				return storeFailure(fmt.Errorf("%s: %w", in.key, err))
			}
			return nil
		})
	}
	return staging.Wait()
}
