package gc

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"time"

	"github.com/stoker-ml/stoker/storage"
)

// clock returns the time by the store's clock: the modification time of an object that it has just
// written.
func clock(ctx context.Context, store storage.Store, root storage.Ref) (now time.Time, err error) {
	ref := root.Join(".system", "clock", rand.Text())
	if _, err := store.PutIf(ctx, ref, []byte("now"), storage.Condition{IfAbsent: true}); err != nil {
		return now, fmt.Errorf("ask the store for its time: %w", err)
	}
	object, err := store.Stat(ctx, ref)
	if err = errors.Join(err, store.Delete(ctx, ref)); err != nil {
		return now, fmt.Errorf("ask the store for its time: %w", err)
	}
	if object.Modified.IsZero() {
		return now, fmt.Errorf("ask the store for its time: %s has no modification time", ref)
	}
	return object.Modified, nil
}
