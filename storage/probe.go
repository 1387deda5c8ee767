package storage

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
)

// Probe finds out whether a store can decide races, by writing twice what may be written once, and by replacing what is not
// there any more. One commit for each execution rests on that, so a store that lets the second write pass is refused:
// ErrNoConditions. folder needs no more than a bucket; what Probe writes below it, it removes.
//
// Many may probe at once. A store that keeps objects in a file system's folders may fail then, because the end of one probe takes
// away the folder that another writes into (versitygw: "Existing Object is a directory", of a name that is new). So a probe
// that fails for no known reason is tried again.
func Probe(ctx context.Context, store Store, folder Ref) error {
	for try := 1; ; try++ {
		err := probeOnce(ctx, store, folder)
		if err == nil || try == probeTries || known(err) || ctx.Err() != nil {
			return err
		}
	}
}

const probeTries = 5

// known says whether err has a reason that stays.
func known(err error) bool {
	for _, kind := range []error{ErrNoConditions, ErrNotFound, ErrPrecondition, ErrDenied, ErrUnavailable} {
		if errors.Is(err, kind) {
			return true
		}
	}
	return false
}

func probeOnce(ctx context.Context, store Store, folder Ref) error {
	ref := folder.Join(systemFolder, "probe", rand.Text())
	if err := ref.Validate(); err != nil {
		return fmt.Errorf("probe: %w", err)
	}
	return errors.Join(probe(ctx, store, ref), store.Delete(ctx, ref))
}

func probe(ctx context.Context, store Store, ref Ref) error {
	first, err := store.PutIf(ctx, ref, []byte("first"), Condition{IfAbsent: true})
	if err != nil {
		return fmt.Errorf("probe %s: %w", ref, err)
	}
	_, err = store.PutIf(ctx, ref, []byte("second"), Condition{IfAbsent: true})
	if err := refused(store, ref, "If-None-Match", err); err != nil {
		return err
	}
	if _, err = store.PutIf(ctx, ref, []byte("third"), Condition{IfMatch: first.ETag}); err != nil {
		return fmt.Errorf("probe %s: replace: %w", ref, err)
	}
	_, err = store.PutIf(ctx, ref, []byte("fourth"), Condition{IfMatch: first.ETag})
	return refused(store, ref, "If-Match", err)
}

func refused(store Store, ref Ref, header string, err error) error {
	switch {
	case errors.Is(err, ErrPrecondition):
		return nil
	case err == nil:
		return fmt.Errorf("probe %s: %s ignores %s: %w", ref, name(store), header, ErrNoConditions)
	}
	return fmt.Errorf("probe %s: %w", ref, err)
}

func name(store Store) string {
	if s, ok := store.(fmt.Stringer); ok {
		return s.String()
	}
	return fmt.Sprintf("%T", store)
}
