package execution

import (
	"context"
	"errors"
	"fmt"

	"github.com/stoker-ml/stoker/events"
	"github.com/stoker-ml/stoker/storage"
)

// Earlier is a committed result of the same pipeline and component as e, by the address of one of its artifacts, for e's job to take as
// its own outcome: see storage.Found. fits says whether it may. nil: it may not, it is no longer whole, or others made it.
func (w *Workshop) Earlier(ctx context.Context, e Execution, address string, fits func(Result) bool) (*Result, error) {
	place, ok := storage.ExecutionAt(address)
	if !ok || place.Root != e.root {
		return nil, nil
	}
	for {
		commit, manifest, err := storage.Committed(ctx, w.store, place.Root, place.Execution)
		switch {
		case errors.Is(err, storage.ErrNotFound), errors.Is(err, storage.ErrIncomplete):
			return nil, nil
		case err != nil:
			return nil, events.Fail(events.FailureUnavailable, fmt.Errorf("look up earlier execution %s: %w", place.Execution, err))
		}
		found := Result{Commit: commit, Manifest: manifest, Reused: true}
		if commit.Cancelled || commit.Retired || !fits(found) {
			return nil, nil
		}
		noted, err := storage.Found(ctx, e.fenced, place.Root, commit, e.attempt)
		if err != nil {
			return nil, events.Fail(events.FailureUnavailable, fmt.Errorf("take earlier execution %s: %w", place.Execution, err))
		}
		if noted {
			return &found, nil
		}
	}
}
