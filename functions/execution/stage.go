package execution

import (
	"context"
	"errors"
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
	in.Listing = listing
	a.also = append(a.also, in)
	_, err = storage.StageIn(ctx, a.shop.store, listing.Ref, a.Desk.In(in.Dir), storage.StageOptions{Listing: &listing})
	return err
}

// ErrArtifactChanged is what StageArtifact returns of an artifact that is gone or holds something else by now.
var ErrArtifactChanged = errors.New("the artifact is gone or has changed")

// StageArtifact copies an artifact to a local folder, if it still is what an execution was identified with. Its other errors are the
// store's.
func (a *Attempt) StageArtifact(ctx context.Context, artifact events.Artifact, dir string) error {
	listing, err := storage.List(ctx, a.shop.store, refOf(artifact.URI))
	if err == nil && listing.Digest != artifact.Digest {
		err = ErrArtifactChanged
	}
	if err == nil {
		_, err = storage.StageIn(ctx, a.shop.store, listing.Ref, dir, storage.StageOptions{Listing: &listing})
	}
	switch {
	case errors.Is(err, storage.ErrNotFound), errors.Is(err, storage.ErrChanged), errors.Is(err, ErrArtifactChanged):
		return fmt.Errorf("%s: %w", artifact.URI, ErrArtifactChanged)
	case err != nil:
		return StoreFailure(fmt.Errorf("%s: %w", artifact.URI, err))
	}
	return nil
}
