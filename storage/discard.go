package storage

import (
	"context"
	"errors"
	"fmt"
)

// Discard removes the objects of an attempt: its manifest first, so that no manifest names removed
// objects, then the blobs of the given output keys. It refuses to touch the attempt that its
// execution's commit names. Objects that are already gone are no error, so Discard can be called
// again after an error.
func Discard(ctx context.Context, store Store, place Place, outputs ...string) error {
	if err := place.validateAttempt(); err != nil {
		return fmt.Errorf("discard: %w", err)
	}
	c, err := readCommit(ctx, store, place)
	if err != nil && !errors.Is(err, ErrNotFound) {
		return fmt.Errorf("discard attempt %s: %w", place.Attempt, err)
	}
	if err == nil && c.Attempt == place.Attempt && !c.Cancelled {
		return fmt.Errorf("discard attempt %s: it is the outcome of execution %s", place.Attempt, place.Execution)
	}
	if err := store.Delete(ctx, place.Manifest()); err != nil {
		return fmt.Errorf("discard attempt %s: %w", place.Attempt, err)
	}
	for _, key := range outputs {
		if err := deleteFolder(ctx, store, place.Output(key)); err != nil {
			return fmt.Errorf("discard attempt %s: %s: %w", place.Attempt, key, err)
		}
	}
	return nil
}

func deleteFolder(ctx context.Context, store Store, folder Ref) error {
	for obj, err := range store.List(ctx, folder.Folder()) {
		if err != nil {
			return err
		}
		if err := store.Delete(ctx, obj.Ref); err != nil {
			return err
		}
	}
	return nil
}

// Found notes in c, as it was read, that an attempt uses its model as its own outcome. Call it
// before publishing the model again: no Retire that was decided before succeeds afterwards. It
// returns false if the commit has changed since it was read: read it again.
func Found(ctx context.Context, store Store, root Ref, c Commit, attempt string) (bool, error) {
	switch attempt {
	case "":
		return false, errors.New("note the use of a commit: attempt missing")
	case c.FoundBy:
		return true, nil
	}
	next := c
	next.FoundBy = attempt
	now, _, err := Recommit(ctx, store, root, c, next)
	return err == nil && now.isOf(next) && now.FoundBy == attempt, err
}

// Retire notes in c, as it was read, that its model is about to be removed: from then on, Committed
// does not return it. The commit stays, to record that the execution was done, and its generation.
// Retire returns false if the commit has changed since it was read; then its model must stay.
func Retire(ctx context.Context, store Store, root Ref, c Commit) (bool, error) {
	next := c
	next.Retired = true
	now, _, err := Recommit(ctx, store, root, c, next)
	return err == nil && now.isOf(next), err
}
