package execution

import (
	"context"
	"fmt"

	"golang.org/x/sync/errgroup"

	"github.com/stoker-ml/stoker/events"
	"github.com/stoker-ml/stoker/functions/telemetry"
	"github.com/stoker-ml/stoker/storage"
)

// atOnce is how many artifacts are listed or staged at a time. Small ones cost a round trip each, and that is all.
const atOnce = 4

// StageIn copies every input to the desk, exactly as it was listed when the execution was identified, and refuses graphs among them that
// have operations which no model needs.
func (a *Attempt) StageIn(ctx context.Context) error {
	if err := a.stage(ctx); err != nil {
		return err
	}
	return a.checkGraphs(ctx)
}

func (a *Attempt) stage(ctx context.Context) (err error) {
	ctx, span := telemetry.Start(ctx, "stage")
	defer span.End(&err)
	a.Report(events.Progress{Phase: "staging"})
	staging, ctx := errgroup.WithContext(ctx)
	staging.SetLimit(atOnce)
	for _, in := range a.Execution.Inputs {
		staging.Go(func() error {
			options := storage.StageOptions{Listing: &in.Listing}
			if _, err := storage.StageIn(ctx, a.shop.store, in.Listing.Ref, a.Desk.In(in.Dir), options); err != nil {
				return StoreFailure(fmt.Errorf("%s: %w", in.Key, err))
			}
			return nil
		})
	}
	return staging.Wait()
}

// StageFirst copies the first file of an input that decides nothing of the result. Its errors are the store's.
func (a *Attempt) StageFirst(ctx context.Context, in Input) error {
	listing, err := a.shop.listOne(ctx, in)
	if err != nil {
		return err
	}
	if len(listing.Files) > 1 {
		listing.Files = listing.Files[:1]
	}
	_, err = storage.StageIn(ctx, a.shop.store, listing.Ref, a.Desk.In(in.Dir), storage.StageOptions{Listing: &listing})
	return err
}
