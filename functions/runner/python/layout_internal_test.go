package python

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"testing"
	"time"
)

// TestEveryPythonFileIsEmbedded fails for a file in a directory deeper than the patterns, which
// would be left out silently.
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

// Cache directories are cleaned up by age, lose files that were not on the disk when the power
// failed, and can be written to by modules.
func TestWhatIsLaidOutIsWhole(t *testing.T) {
	t.Parallel()
	cache := t.TempDir()
	layout, err := Lay(cache)
	if err != nil {
		t.Fatal(err)
	}
	gone, changed := filepath.Join(layout.Shim, "tfx", "v1", "__init__.py"), filepath.Join(layout.Driver, "stoker_runner", "job.py")
	foreign := []string{
		filepath.Join(layout.Driver, "json.py"), filepath.Join(layout.Driver, "stoker_runner", "__pycache__", "job.cpython-311.pyc"),
		filepath.Join(layout.Shim, "tfx", "evil", "__init__.py"), filepath.Join(layout.Driver, "stoker_runner", "said.cpython-311-x86_64-linux-gnu.so"),
	}
	for _, path := range foreign {
		if err := errors.Join(os.MkdirAll(filepath.Dir(path), 0o700), os.WriteFile(path, nil, 0o600)); err != nil {
			t.Fatal(err)
		}
	}
	link := filepath.Join(layout.Driver, "stoker")
	if err := errors.Join(os.Rename(link, link+"-other"), os.Symlink(link+"-other", link)); err != nil {
		t.Fatal(err)
	}
	untouched := filepath.Join(layout.Driver, "stoker_runner", "fork.py")
	old := time.Now().Add(-time.Hour)
	for _, err := range []error{
		os.RemoveAll(filepath.Dir(gone)), os.WriteFile(changed, nil, 0o600), os.Chtimes(untouched, old, old),
	} {
		if err != nil {
			t.Fatal(err)
		}
	}
	if again, err := Lay(cache); err != nil || again != layout {
		t.Fatal(again, err)
	}
	for _, path := range []string{gone, changed} {
		if text, err := os.ReadFile(path); err != nil || len(text) == 0 {
			t.Errorf("%s: %d bytes, %v", path, len(text), err)
		}
	}
	for _, path := range append(foreign, link+"-other") {
		if _, err := os.Lstat(path); err == nil {
			t.Errorf("%s is still there", path)
		}
	}
	if info, err := os.Lstat(link); err != nil || !info.IsDir() {
		t.Errorf("the folder that was a link is %v, %v", info, err)
	}
	if info, err := os.Stat(untouched); err != nil || time.Since(info.ModTime()) < time.Minute {
		t.Error("what was whole was written again, and Python compiles it anew")
	}
	if entries, err := filepath.Glob(filepath.Join(layout.Driver, "stoker_runner", ".*")); err != nil || len(entries) > 0 {
		t.Errorf("left %v, %v", entries, err)
	}
}
