package doctor

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/stoker-ml/stoker/storage"
)

// clocked is a store that can return its server's time.
type clocked interface {
	Clock(ctx context.Context) (time.Duration, error)
}

// Store checks the object store: whether it answers, accepts writes below root, and honors
// conditional writes. It removes what it writes. with provides the store for the duration of a
// call.
func Store(with func(context.Context, func(context.Context, storage.Store, storage.Ref) error) error) Check {
	return Func("store", func(ctx context.Context) (found []Finding) {
		err := with(ctx, func(ctx context.Context, store storage.Store, root storage.Ref) error {
			found = append(found, probed(store, root, storage.Probe(ctx, store, root)))
			if clock, ok := store.(clocked); ok && !errors.Is(ctx.Err(), context.DeadlineExceeded) {
				if ahead, err := clock.Clock(ctx); err == nil {
					found = append(found, skew("clock of the store", ahead))
				}
			}
			return nil
		})
		if err != nil {
			found = append(found, Wrong("`stoker config` shows the store and the credentials in use", "%v", err))
		}
		return found
	})
}

func probed(store storage.Store, root storage.Ref, err error) Finding {
	switch name := fmt.Sprint(store); {
	case err == nil:
		return Fine("%s reads, writes and honors conditions in %s", name, root)
	case errors.Is(err, storage.ErrNoConditions):
		return Wrong("use a store that honors If-None-Match and If-Match: MinIO, Amazon S3, versitygw", "%s does not honor conditional writes: %v", name, err)
	case errors.Is(err, storage.ErrNotFound):
		return Wrong("make the bucket "+root.Bucket+", or name another with --root (STOKER_ROOT)", "%v", err)
	case errors.Is(err, storage.ErrDenied):
		return Wrong("`stoker config` shows the credentials in use; `stoker access` prints the permissions of each role", "%v", err)
	case errors.Is(err, storage.ErrUnavailable):
		return Wrong("is "+name+" correct, and is the store running? `stoker config` shows where the setting comes from", "%v", err)
	default:
		return Wrong("`stoker config` shows the store and the credentials in use", "%v", err)
	}
}
