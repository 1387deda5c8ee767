package storage

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
)

// PutCommit makes c the outcome of its execution, unless there is one already. It returns the commit that counts, and
// whether that is c: then won is true, also when an earlier try had written it and only the answer was lost. Two writers are
// told apart by Attempt; a cancelling one has an Attempt of its own too.
//
// ErrUnavailable means that nobody knows: call again.
func PutCommit(ctx context.Context, store Store, root Ref, c Commit) (winner Commit, won bool, err error) {
	return putCommit(ctx, store, root, c, Condition{IfAbsent: true})
}

// Recommit replaces a commit whose objects are gone, broken, by next, as one compare-and-swap. It returns what PutCommit does.
func Recommit(ctx context.Context, store Store, root Ref, broken, next Commit) (winner Commit, won bool, err error) {
	if broken.ETag == "" {
		return Commit{}, false, errors.New("replace commit: the old one was not read from a store")
	}
	return putCommit(ctx, store, root, next, Condition{IfMatch: broken.ETag})
}

func putCommit(ctx context.Context, store Store, root Ref, c Commit, cond Condition) (Commit, bool, error) {
	place := Place{Root: root, Execution: c.Execution, Attempt: c.Attempt}
	if err := place.validateAttempt(); err != nil {
		return Commit{}, false, fmt.Errorf("commit: %w", err)
	}
	data, err := json.Marshal(c)
	if err != nil {
		return Commit{}, false, fmt.Errorf("commit %s: %w", c.Execution, err)
	}
	obj, err := store.PutIf(ctx, place.Commit(), data, cond)
	if err == nil {
		c.ETag = obj.ETag
		return c, true, nil
	}
	if !errors.Is(err, ErrPrecondition) && !errors.Is(err, ErrUnavailable) {
		return Commit{}, false, fmt.Errorf("commit %s: %w", c.Execution, err)
	}
	return whoWon(ctx, store, place, c, cond, err)
}

// whoWon reads what is there after a write whose outcome is not known, or was to lose. lost is the error of that write.
func whoWon(ctx context.Context, store Store, place Place, c Commit, cond Condition, lost error) (Commit, bool, error) {
	there, err := readCommit(ctx, store, place)
	if errors.Is(err, ErrNotFound) {
		// Not written, or written and collected as garbage since: the next try will see.
		return Commit{}, false, fmt.Errorf("commit %s: %w: %w", c.Execution, ErrUnavailable, lost)
	}
	if err != nil {
		return Commit{}, false, fmt.Errorf("commit %s: %w", c.Execution, errors.Join(lost, err))
	}
	if there.ETag == cond.IfMatch {
		return Commit{}, false, fmt.Errorf("commit %s: %w", c.Execution, lost) // nobody has replaced it yet
	}
	return there, there.Attempt == c.Attempt && there.Cancelled == c.Cancelled, nil
}

func readCommit(ctx context.Context, store Store, place Place) (Commit, error) {
	var c Commit
	obj, err := readJSON(ctx, store, place.Commit(), &c)
	c.ETag = obj.ETag
	if err == nil && executionHex(c.Execution) != executionHex(place.Execution) {
		err = fmt.Errorf("commit %s: is of execution %s: %w", place.Commit(), c.Execution, ErrIncomplete)
	}
	return c, err
}

// Committed looks for the outcome of an execution. It is valid only if the winner's manifest is there, and every object of
// it, with its size and ETag. ErrNotFound: there is no commit. ErrIncomplete: there is one, which is returned for Recommit,
// but what it stands for is gone. A cancelled execution has a commit and an empty manifest.
func Committed(ctx context.Context, store Store, root Ref, execution string) (Commit, Manifest, error) {
	place := Place{Root: root, Execution: execution}
	if err := place.Validate(); err != nil {
		return Commit{}, Manifest{}, fmt.Errorf("look for a commit: %w", err)
	}
	c, err := readCommit(ctx, store, place)
	if err != nil || c.Cancelled {
		return c, Manifest{}, err
	}
	place.Attempt = c.Attempt
	m, err := ReadManifest(ctx, store, place)
	if errors.Is(err, ErrNotFound) {
		err = fmt.Errorf("commit of attempt %s: %w: %w", c.Attempt, ErrIncomplete, withoutKind(err))
	}
	if err != nil {
		return c, Manifest{}, err
	}
	for key, out := range m.Outputs {
		if err := present(ctx, store, place.Output(key), out.Files); err != nil {
			return c, m, fmt.Errorf("commit of attempt %s: %s: %w", c.Attempt, key, err)
		}
	}
	return c, m, nil
}

// withoutKind keeps the words of err and hides what it is, so that ErrNotFound means "no commit" and nothing else.
func withoutKind(err error) error { return errors.New(err.Error()) }

func present(ctx context.Context, store Store, folder Ref, named []File) error {
	var listed []File
	for obj, err := range store.List(ctx, folder.Folder()) {
		if err != nil {
			return err
		}
		if name, ok := obj.Ref.Below(folder); ok {
			listed = append(listed, File{Path: name, Size: obj.Size, ETag: obj.ETag})
		}
	}
	files, err := matchFiles(named, listed)
	if err != nil {
		return err
	}
	for i, f := range files {
		if f.ETag != named[i].ETag {
			return fmt.Errorf("%s has ETag %s, not %s: %w", f.Path, f.ETag, named[i].ETag, ErrIncomplete)
		}
	}
	return nil
}
