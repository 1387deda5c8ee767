package trainer

import (
	"context"
	"fmt"

	"github.com/stoker-ml/stoker/events"
	"github.com/stoker-ml/stoker/storage"
)

// stageIn copies every input to the desk, exactly as it was listed when the execution was identified.
func (t *Trainer) stageIn(ctx context.Context, a attempt) error {
	a.Report(events.Progress{Phase: "staging"})
	for _, in := range a.execution.inputs {
		options := storage.StageOptions{Listing: &in.listing}
		if _, err := storage.StageIn(ctx, t.store, in.listing.Ref, a.desk.in(in.dir), options); err != nil {
			return storeFailure(fmt.Errorf("%s: %w", in.key, err))
		}
	}
	return nil
}
