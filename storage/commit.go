package storage

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
)

// PutCommit makes c the outcome of its execution, unless there is one already. It returns the
// commit that counts, and whether that is c: won is also true if an earlier call had written c and
// its answer was lost. Two writers are distinguished by Attempt; a writer that cancels has an
// Attempt of its own too.
//
// ErrUnavailable means that the outcome is unknown: call again.
func PutCommit(ctx context.Context, store Store, root Ref, c Commit) (winner Commit, won bool, err error) {
	return putCommit(ctx, store, root, c, Condition{IfAbsent: true})
}

// Recommit replaces old by next in one compare-and-swap. old is a commit whose objects are gone, or
// that cancels another job. The results are those of PutCommit. The commit's generation never
// decreases.
func Recommit(ctx context.Context, store Store, root Ref, old, next Commit) (winner Commit, won bool, err error) {
	if old.ETag == "" {
		return Commit{}, false, errors.New("replace commit: the old one was not read from a store")
	}
	if next.Generation < old.Generation {
		return Commit{}, false, fmt.Errorf("replace commit: of generation %d by generation %d", old.Generation, next.Generation)
	}
	return putCommit(ctx, store, root, next, Condition{IfMatch: old.ETag})
}

// commitWrite is one attempt to make commit the outcome.
type commitWrite struct {
	store  Store
	place  Place
	commit Commit
	cond   Condition
}

func putCommit(ctx context.Context, store Store, root Ref, c Commit, cond Condition) (Commit, bool, error) {
	place := Place{Root: root, Execution: c.Execution, Attempt: c.Attempt}
	if err := place.validateAttempt(); err != nil {
		return Commit{}, false, fmt.Errorf("commit: %w", err)
	}
	if c.Manifest = ""; !c.Cancelled {
		c.Manifest = place.Manifest().String()
	}
	winner, won, err := commitWrite{store: store, place: place, commit: c, cond: cond}.do(ctx)
	if err != nil {
		return Commit{}, false, fmt.Errorf("commit %s: %w", c.Execution, err)
	}
	return winner, won, nil
}

func (w commitWrite) do(ctx context.Context) (winner Commit, won bool, err error) {
	data, err := json.Marshal(w.commit)
	if err != nil {
		return Commit{}, false, err
	}
	obj, err := w.store.PutIf(ctx, w.place.Commit(), data, w.cond)
	switch {
	case err == nil:
		w.commit.ETag = obj.ETag
		return w.commit, true, nil
	case errors.Is(err, ErrPrecondition), errors.Is(err, ErrUnavailable):
		return w.whoWon(ctx, err)
	}
	return Commit{}, false, err
}

// whoWon reads the commit after a write whose outcome is unknown or that failed its condition. lost
// is the error of that write.
func (w commitWrite) whoWon(ctx context.Context, lost error) (Commit, bool, error) {
	there, err := readCommit(ctx, w.store, w.place)
	switch {
	case errors.Is(err, ErrNotFound):
		// It was not written, or was garbage-collected since: the next call will see.
		return Commit{}, false, fmt.Errorf("%w: %w", ErrUnavailable, lost)
	case err != nil:
		return Commit{}, false, errors.Join(lost, err)
	case there.ETag == w.cond.IfMatch: // not replaced by anyone yet
		return Commit{}, false, lost
	}
	return there, there.isOf(w.commit), nil
}

// isOf reports whether c is the commit that the writer of other wrote. The JSON form may have
// shortened its time.
func (c Commit) isOf(other Commit) bool {
	return c.Attempt == other.Attempt && c.Cancelled == other.Cancelled && c.Retired == other.Retired && c.Generation == other.Generation
}

func readCommit(ctx context.Context, store Store, place Place) (Commit, error) {
	var c Commit
	obj, err := readJSON(ctx, store, place.Commit(), &c)
	c.ETag = obj.ETag
	if err == nil {
		err = c.check(place)
	}
	return c, err
}

// check returns an error unless c is a commit of the execution at place.
func (c Commit) check(place Place) error {
	place.Attempt = c.Attempt
	if executionHex(c.Execution) != executionHex(place.Execution) {
		return fmt.Errorf("commit %s: is of execution %s: %w", place.Commit(), c.Execution, ErrIncomplete)
	}
	if err := place.validateAttempt(); err != nil || c.Generation < 0 {
		return fmt.Errorf("commit %s: generation %d, attempt %q: %w", place.Commit(), c.Generation, c.Attempt, ErrIncomplete)
	}
	return nil
}

// CommitOf reads the commit of an execution. It does not check that the objects of the commit
// exist. It returns ErrNotFound if there is no commit.
func CommitOf(ctx context.Context, store Store, root Ref, execution string) (Commit, error) {
	place := Place{Root: root, Execution: execution}
	if err := place.Validate(); err != nil {
		return Commit{}, fmt.Errorf("read commit: %w", err)
	}
	return readCommit(ctx, store, place)
}

// Committed returns the outcome of an execution. The outcome is valid only if the winner's manifest
// exists, and every object that it names, with its size and ETag. ErrNotFound means that there is
// no commit. ErrIncomplete means that there is one, which is returned for Recommit, but its objects
// are gone. A cancelled execution has a commit and an empty manifest.
func Committed(ctx context.Context, store Store, root Ref, execution string) (Commit, Manifest, error) {
	place := Place{Root: root, Execution: execution}
	if err := place.Validate(); err != nil {
		return Commit{}, Manifest{}, fmt.Errorf("find commit: %w", err)
	}
	c, err := readCommit(ctx, store, place)
	if err != nil || c.Cancelled {
		return c, Manifest{}, err
	}
	if c.Retired {
		return c, Manifest{}, fmt.Errorf("commit of attempt %s: its model is no longer kept: %w", c.Attempt, ErrIncomplete)
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

// withoutKind keeps the text of err and hides its kind, so that ErrNotFound means "no commit" and
// nothing else.
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

// Resolve returns the current address of an artifact. The address of one that Stoker made names an
// attempt. If the objects of that attempt are gone, and the execution was done again since, Resolve
// returns the same output of the attempt that the commit names now. It returns every other address
// unchanged: List shows whether there is anything.
func Resolve(ctx context.Context, store Store, ref Ref) (Ref, error) {
	place, key, ok := placeOf(ref)
	if !ok {
		return ref, nil
	}
	whole, err := outputThere(ctx, store, place, key)
	if err != nil {
		return Ref{}, fmt.Errorf("resolve %s: %w", ref, err)
	}
	if whole {
		return ref, nil
	}
	c, err := readCommit(ctx, store, place)
	switch {
	case errors.Is(err, ErrNotFound), errors.Is(err, ErrIncomplete):
		return ref, nil
	case err != nil:
		return Ref{}, fmt.Errorf("resolve %s: %w", ref, err)
	case c.Cancelled, c.Retired:
		return ref, nil
	}
	place.Attempt = c.Attempt
	return place.Output(key), nil
}

// outputThere reports whether an attempt's manifest exists, and every object of one of its outputs.
func outputThere(ctx context.Context, store Store, place Place, key string) (bool, error) {
	m, err := ReadManifest(ctx, store, place)
	if err == nil {
		err = present(ctx, store, place.Output(key), m.Outputs[key].Files)
	}
	if errors.Is(err, ErrNotFound) || errors.Is(err, ErrIncomplete) {
		return false, nil
	}
	return err == nil, err
}

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
