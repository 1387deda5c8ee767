package storage

import (
	"context"
	"errors"
	"fmt"
)

// Discard removes what an attempt has left: its manifest first, so that no manifest ever names what is gone, then the blobs
// of the given output keys. It refuses to touch the attempt that its execution's commit names. What is gone already is
// success, so it can be called again after an error.
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

// Found notes in c, as it was read, that an attempt takes its model for its own outcome. It is to be called before the publication of
// the model again; then no Retire that had decided before goes through. false: the commit is another one by now; look again.
func Found(ctx context.Context, store Store, root Ref, c Commit, attempt string) (bool, error) {
	switch attempt {
	case "":
		return false, errors.New("note who found a commit: attempt missing")
	case c.FoundBy:
		return true, nil
	}
	next := c
	next.FoundBy = attempt
	now, _, err := Recommit(ctx, store, root, c, next)
	return err == nil && now.isOf(next) && now.FoundBy == attempt, err
}

// Retire notes in c, as it was read, that its model is about to be removed: from now on nobody finds it. The commit stays, as the memory
// that the execution was done, and in which generation. false: the commit is another one by now, and its model must stay.
func Retire(ctx context.Context, store Store, root Ref, c Commit) (bool, error) {
	next := c
	next.Retired = true
	now, _, err := Recommit(ctx, store, root, c, next)
	return err == nil && now.isOf(next), err
}
