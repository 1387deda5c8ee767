package storage_test

import (
	"errors"
	"strings"
	"testing"

	"github.com/stoker-ml/stoker/storage"
	"github.com/stoker-ml/stoker/storage/storagetest"
)

// committedModel returns a store with a complete, committed execution, and its commit as it was
// read.
func committedModel(t *testing.T) (storage.Store, storage.Ref, storage.Commit) {
	t.Helper()
	store, root := storagetest.NewMemory(), storage.Ref{Bucket: "stoker", Key: "p/Trainer"}
	place := storage.Place{Root: root, Execution: "sha256:" + strings.Repeat("0", 64), Attempt: "a"}
	_, err := storage.Publish(t.Context(), store, storage.Publication{
		Root: place.Root, Execution: place.Execution, Attempt: "a", Outputs: map[string]storage.Source{"model": {Type: "Model", Dir: t.TempDir()}},
	})
	if err == nil {
		_, _, err = storage.PutCommit(t.Context(), store, place.Root, storage.Commit{Execution: place.Execution, Attempt: "a", Generation: 2})
	}
	c, _, readErr := storage.Committed(t.Context(), store, place.Root, place.Execution)
	if err := errors.Join(err, readErr); err != nil {
		t.Fatal(err)
	}
	return store, place.Root, c
}

func TestOfFoundAndRetiredOnlyOneGoesOn(t *testing.T) {
	t.Parallel()
	found := func(t *testing.T, store storage.Store, root storage.Ref, c storage.Commit) (bool, error) {
		return storage.Found(t.Context(), store, root, c, "b")
	}
	retire := func(t *testing.T, store storage.Store, root storage.Ref, c storage.Commit) (bool, error) {
		return storage.Retire(t.Context(), store, root, c)
	}
	type note func(*testing.T, storage.Store, storage.Ref, storage.Commit) (bool, error)
	for name, notes := range map[string][2]note{"found first": {found, retire}, "retired first": {retire, found}} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			store, root, c := committedModel(t)
			for i, note := range notes {
				if done, err := note(t, store, root, c); err != nil || done != (i == 0) {
					t.Errorf("note %d: %v, %v", i, done, err)
				}
			}
			now, _, err := storage.Committed(t.Context(), store, root, c.Execution)
			if whole := name == "found first"; whole != (err == nil) || !whole && !errors.Is(err, storage.ErrIncomplete) {
				t.Errorf("committed: %v", err)
			}
			if now.Attempt != "a" || now.Generation != 2 {
				t.Errorf("the commit is now %+v", now)
			}
		})
	}
}

func TestSeveralMayFindACommitOneAfterAnother(t *testing.T) {
	t.Parallel()
	store, root, c := committedModel(t)
	for _, attempt := range []string{"b", "c", "c"} {
		if done, err := storage.Found(t.Context(), store, root, c, attempt); err != nil || !done {
			t.Errorf("found by %s: %v, %v", attempt, done, err)
		}
		var err error
		if c, _, err = storage.Committed(t.Context(), store, root, c.Execution); err != nil || c.FoundBy != attempt {
			t.Errorf("found by %q, %v; want %s", c.FoundBy, err, attempt)
		}
	}
	if _, err := storage.Found(t.Context(), store, root, c, ""); err == nil {
		t.Error("nobody found it")
	}
}
