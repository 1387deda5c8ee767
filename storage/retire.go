package storage

import (
	"context"
	"errors"
)

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
