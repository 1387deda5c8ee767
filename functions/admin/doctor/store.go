package doctor

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/stoker-ml/stoker/storage"
)

// clocked is a store that can say what time it is there.
type clocked interface {
	Clock(ctx context.Context) (time.Duration, error)
}

// Store looks at the object store: whether it answers, takes what is written below root, and decides races. What it writes, it removes.
// with lends the store.
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
			found = append(found, Wrong("`stoker config` shows which store and whose credentials are used", "%v", err))
		}
		return found
	})
}

func probed(store storage.Store, root storage.Ref, err error) Finding {
	switch name := fmt.Sprint(store); {
	case err == nil:
		return Fine("%s writes, reads and decides races in %s", name, root)
	case errors.Is(err, storage.ErrNoConditions):
		return Wrong("use a store that honors If-None-Match and If-Match: MinIO, Amazon S3, versitygw", "%s can't decide races: %v", name, err)
	case errors.Is(err, storage.ErrNotFound):
		return Wrong("make the bucket "+root.Bucket+", or name another with --root (STOKER_ROOT)", "%v", err)
	case errors.Is(err, storage.ErrDenied):
		return Wrong("`stoker config` shows whose credentials are used; `stoker access` says what each role must be allowed", "%v", err)
	case errors.Is(err, storage.ErrUnavailable):
		return Wrong("is "+name+" right, and up? `stoker config` shows where the setting comes from", "%v", err)
	default:
		return Wrong("`stoker config` shows which store and whose credentials are used", "%v", err)
	}
}
