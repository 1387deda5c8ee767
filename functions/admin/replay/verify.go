package replay

import (
	"context"
	"errors"
	"fmt"

	"github.com/stoker-ml/stoker/events"
	"github.com/stoker-ml/stoker/storage"
)

// modelState is what the store holds of a model that an event names.
type modelState struct {
	whole      bool
	why        string
	generation int // the least that a new one must have to be announced
}

// verify checks that the model is as it was announced: its execution's commit names the same
// attempt, and every object that the manifest lists is there with its size and ETag.
func verify(ctx context.Context, store storage.Store, data *events.ModelTrained) (modelState, error) {
	next := modelState{generation: data.Generation + 1}
	ref, err := storage.ParseRef(data.Model.URI)
	if err != nil {
		return next, err
	}
	place, ok := storage.PlaceOf(ref)
	if !ok {
		return modelState{whole: true, why: "its model lies at an address that is not of Stoker's making"}, nil
	}
	commit, _, err := storage.Committed(ctx, store, place.Root, place.Execution)
	switch {
	case errors.Is(err, storage.ErrNotFound):
		next.why = "its model is gone, and its commit too"
	case errors.Is(err, storage.ErrIncomplete):
		next.why = "its model is not whole: " + err.Error()
		next.generation = max(next.generation, commit.Generation+1)
	case err != nil:
		return next, fmt.Errorf("verify %s: %w", ref, err)
	case commit.Cancelled:
		next.why = "its execution was cancelled since"
	case commit.Attempt != place.Attempt:
		next.why = "its model was made again, without an event for this run"
		next.generation = max(next.generation, commit.Generation)
	default:
		return modelState{whole: true, why: "its model is whole"}, nil
	}
	return next, nil
}
