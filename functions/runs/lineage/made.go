package lineage

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/stoker-ml/stoker/events"
	"github.com/stoker-ml/stoker/functions/runs/result"
	"github.com/stoker-ml/stoker/storage"
)

// Made is how Stoker made an artifact, according to its manifest.
type Made struct {
	Inputs   []events.Artifact
	Module   string // digest of its code
	Started  time.Time
	Finished time.Time

	Environment *result.Environment // where it was made; nil if that is not recorded
}

// MadeAt reads it from the store alone. It returns events.ErrNotFound if Stoker did not make the
// artifact, or if its manifest is gone.
func MadeAt(ctx context.Context, store storage.Store, uri string) (Made, error) {
	ref, err := storage.ParseRef(uri)
	place, ours := storage.PlaceOf(ref)
	if err != nil || !ours {
		return Made{}, fmt.Errorf("%s: not an artifact that Stoker created: %w", uri, events.ErrNotFound)
	}
	r := records{store: store}
	found, err := r.manifest(ctx, place)
	if errors.Is(err, errNoRecord) {
		return Made{}, fmt.Errorf("%s: %w: %w", uri, err, events.ErrNotFound)
	}
	return Made{found.Inputs, found.Module, found.Started, found.Finished, found.Environment}, err
}
