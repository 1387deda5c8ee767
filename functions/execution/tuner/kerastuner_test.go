package tuner

import (
	"errors"
	"os"
	"path/filepath"
	"testing"

	"github.com/stoker-ml/stoker/functions/module"
)

// The process of a search names the directory of its trials: the worker writes there, and uploads
// the files in it.
func TestASearchNamesNoFolderThatIsNotItsOwn(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	if err := errors.Join(os.Mkdir(filepath.Join(dir, "project"), 0o700), os.Symlink("/usr", filepath.Join(dir, "link"))); err != nil {
		t.Fatal(err)
	}
	d := &backend{&participant{base: module.Assignment{WorkingDir: dir}}}
	for folder, want := range map[string]bool{
		dir: true, filepath.Join(dir, "project"): true, filepath.Join(dir, "link"): false, filepath.Join(dir, "link", "lib"): false,
		"/usr": false, "/": false, filepath.Join(dir, "none"): false,
	} {
		if got := d.Owns(folder); got != want {
			t.Errorf("%s: %t, want %t", folder, got, want)
		}
	}
}
