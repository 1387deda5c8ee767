package bucket_test

import (
	"crypto/rand"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stoker-ml/stoker/storage"
	"github.com/stoker-ml/stoker/storage/storagetest"
)

// The suite runs with extended attributes in storage/s3. Here is the other way to keep metadata.
func TestStoreWithMetadataBeside(t *testing.T) {
	dir := t.TempDir()
	if err := os.Mkdir(filepath.Join(dir, "metadata"), 0o700); err != nil { // what a file system without attributes leads to
		t.Fatal(err)
	}
	_, store := start(t, dir)
	t.Run("suite", func(t *testing.T) {
		storagetest.Run(t, func(t *testing.T) storagetest.Subject {
			root := storage.Ref{Bucket: "test-" + strings.ToLower(rand.Text())}
			if err := store.EnsureBucket(t.Context(), root.Bucket); err != nil {
				t.Fatal(err)
			}
			return storagetest.Subject{Store: store, Root: root}
		})
	})
	attributed, err := filepath.Glob(filepath.Join(dir, "metadata", "*"))
	if err != nil || len(attributed) == 0 {
		t.Errorf("nothing beside: %v", err)
	}
}
