package python

import (
	"io/fs"
	"os"
	"path/filepath"
	"testing"
)

// TestEveryPythonFileIsEmbedded: one in a folder deeper than the patterns would be left out in silence.
func TestEveryPythonFileIsEmbedded(t *testing.T) {
	t.Parallel()
	for _, root := range []string{"driver", "shim"} {
		err := fs.WalkDir(os.DirFS("."), root, func(path string, entry fs.DirEntry, err error) error {
			if err != nil || entry.IsDir() {
				return err
			}
			_, missing := files.Open(path)
			if wanted := filepath.Ext(path) != ".pyc"; wanted != (missing == nil) {
				t.Errorf("%s: embedded %v, want %v", path, missing == nil, wanted)
			}
			return nil
		})
		if err != nil {
			t.Fatal(err)
		}
	}
}
