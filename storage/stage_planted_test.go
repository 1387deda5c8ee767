package storage_test

import (
	"context"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/stoker-ml/stoker/storage"
)

// Another process of the same user puts files where a file in transit used to be: a second name of
// a file elsewhere, and a link.
func TestStageInWritesToFilesOfItsOwn(t *testing.T) {
	t.Parallel()
	outside, dir := filepath.Join(t.TempDir(), "of-another-job"), t.TempDir()
	if err := os.WriteFile(outside, []byte("kept"), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(dir, "target"), []byte("kept"), 0o600); err != nil {
		t.Fatal(err)
	}
	for i := range 3 {
		plant, to := os.Link, outside
		if i == 2 {
			plant, to = os.Symlink, "target"
		}
		if err := plant(to, filepath.Join(dir, fmt.Sprintf(".stage-%d.partial", i))); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := storage.StageIn(t.Context(), examples(t), root.Join("examples"), dir, storage.StageOptions{}); err != nil {
		t.Fatal(err)
	}
	for _, file := range []string{outside, filepath.Join(dir, "target")} {
		if text, err := os.ReadFile(file); err != nil || string(text) != "kept" {
			t.Errorf("%s holds %q, %v", filepath.Base(file), text, err)
		}
	}
}

// onRead is a store that calls a function before the first byte of each object.
type onRead struct {
	storage.Store
	do func()
}

func (s onRead) Open(ctx context.Context, ref storage.Ref, etag string) (io.ReadCloser, storage.Object, error) {
	body, object, err := s.Store.Open(ctx, ref, etag)
	if err != nil {
		return nil, object, err
	}
	return struct {
		io.Reader
		io.Closer
	}{io.MultiReader(reading(s.do), body), body}, object, nil
}

type reading func()

func (r reading) Read([]byte) (int, error) { r(); return 0, io.EOF }

// The names in the directory while files are transferred differ each time.
func TestNobodyCanSayWhereAFileInTransitWillBe(t *testing.T) {
	t.Parallel()
	seen := map[string]int{}
	for turn := range 2 {
		dir := t.TempDir()
		var mu sync.Mutex
		store := onRead{examples(t), func() {
			mu.Lock()
			defer mu.Unlock()
			entries, err := os.ReadDir(dir)
			if err != nil {
				t.Error(err)
			}
			for _, entry := range entries {
				if before, known := seen[entry.Name()]; strings.HasSuffix(entry.Name(), ".partial") && known && before != turn {
					t.Errorf("%s again", entry.Name())
				}
				seen[entry.Name()] = turn
			}
		}}
		if _, err := storage.StageIn(t.Context(), store, root.Join("examples"), dir, storage.StageOptions{}); err != nil {
			t.Fatal(err)
		}
	}
	if len(seen) < 4 {
		t.Errorf("seen %v", seen)
	}
}
