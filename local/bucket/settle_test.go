package bucket_test

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"golang.org/x/sync/errgroup"

	"github.com/stoker-ml/stoker/storage"
	"github.com/stoker-ml/stoker/storage/s3"
)

// An object that is written while the last one of its directory is deleted exists afterwards.
func TestAnObjectIsWrittenWhileItsFolderGoes(t *testing.T) {
	_, store := start(t, t.TempDir())
	if err := store.EnsureBucket(t.Context(), "settles"); err != nil {
		t.Fatal(err)
	}
	const writers, rounds = 6, 100
	var g errgroup.Group
	for w := range writers {
		g.Go(func() error {
			for n := range rounds {
				ref := storage.Ref{Bucket: "settles", Key: fmt.Sprintf("a/b/c/%d-%d", w, n)}
				if err := writeReadRemove(t, store, ref); err != nil {
					return fmt.Errorf("%s: %w", ref.Key, err)
				}
			}
			return nil
		})
	}
	if err := g.Wait(); err != nil {
		t.Fatal(err)
	}
}

func writeReadRemove(t *testing.T, store *s3.Store, ref storage.Ref) error {
	const text = "written"
	if _, err := store.Put(t.Context(), ref, strings.NewReader(text), int64(len(text))); err != nil {
		return err
	}
	if object, err := store.Stat(t.Context(), ref); err != nil || object.Size != int64(len(text)) {
		return errors.Join(fmt.Errorf("stored with %d bytes, want %d", object.Size, len(text)), err)
	}
	return store.Delete(t.Context(), ref)
}
