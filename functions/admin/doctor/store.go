package doctor

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/stoker-ml/stoker/functions/admin/access"
	"github.com/stoker-ml/stoker/storage"
)

// WithStore calls do with the store and the root of its artifacts.
type WithStore func(ctx context.Context, do func(context.Context, storage.Store, storage.Ref) error) error

// clocked is a store that can return its server's time.
type clocked interface {
	Clock(ctx context.Context) (time.Duration, error)
}

// Store checks the object store: whether it answers, accepts writes below root, and honors
// conditional writes. It removes what it writes.
func Store(with WithStore) Check {
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

// StoreOf checks as much of the object store as a role may use. It writes nothing for a role that
// only reads.
func StoreOf(role access.Role, with WithStore) Check {
	use := role.StoreUse()
	if use == access.WritesArtifacts {
		return Store(with)
	}
	return Func("store", func(ctx context.Context) (found []Finding) {
		if use == access.UsesNothing {
			return []Finding{Fine("role %s does not use it", role)}
		}
		err := with(ctx, func(ctx context.Context, store storage.Store, root storage.Ref) error {
			found = append(found, readable(store, root, role, readFirst(ctx, store, root)))
			return nil
		})
		if err != nil {
			found = append(found, Wrong("`stoker config` shows the store and the credentials in use", "%v", err))
		}
		return found
	})
}

// readFirst lists the first object below a folder.
func readFirst(ctx context.Context, store storage.Store, folder storage.Ref) error {
	for _, err := range store.List(ctx, folder) {
		return err
	}
	return nil
}

func readable(store storage.Store, root storage.Ref, role access.Role, err error) Finding {
	switch {
	case role.StoreUse() != access.UsesInputs && err == nil:
		return Fine("%s: role %s may read %s", store, role, root)
	case role.StoreUse() == access.UsesInputs && (err == nil || errors.Is(err, storage.ErrDenied) || errors.Is(err, storage.ErrNotFound)):
		return Fine("%s answers; the inputs that role %s uses are not checked, because only events name them", store, role)
	default:
		return probed(store, root, err)
	}
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
