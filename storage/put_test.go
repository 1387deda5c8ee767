package storage_test

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stoker-ml/stoker/storage"
	"github.com/stoker-ml/stoker/storage/storagetest"
)

func TestAFileIsPutWhole(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "file")
	if err := os.WriteFile(path, []byte("hello"), 0o600); err != nil {
		t.Fatal(err)
	}
	store := storagetest.NewMemory()
	obj, err := storage.PutFile(t.Context(), store, root.Join("file"), path)
	if err != nil || obj.Size != 5 {
		t.Errorf("%+v, %v", obj, err)
	}
	if there, err := store.Stat(t.Context(), root.Join("file")); err != nil || there.Size != 5 {
		t.Errorf("stored %+v, %v", there, err)
	}
}

func TestWhatIsNoFileIsNotPut(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	if _, err := storage.PutFile(t.Context(), storagetest.NewMemory(), root.Join("x"), dir); err == nil || !strings.Contains(err.Error(), dir+": not a regular file") {
		t.Errorf("a folder: %v", err)
	}
	gone := filepath.Join(dir, "gone")
	if _, err := storage.PutFile(t.Context(), storagetest.NewMemory(), root.Join("x"), gone); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("no file: %v", err)
	}
}
