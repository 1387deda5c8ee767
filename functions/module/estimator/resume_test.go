package estimator

import (
	"os"
	"path/filepath"
	"slices"
	"testing"
)

// A worker may be lost while an export is being removed, and its folder may be copied at that
// moment.
func TestHalfAnExportIsNotTakenUp(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	e := exports{dir: dir, kept: []exported{{"latest", 1, 10}, {"latest", 2, 20}, {"latest", 3, 30}}}
	model := os.DirFS(filepath.Join("..", "..", "..", "compute", "tf", "savedmodel", "testdata", "penguin", "model"))
	for _, x := range e.kept {
		if err := os.CopyFS(filepath.Join(e.folder(x), servingFolder), model); err != nil {
			t.Fatal(err)
		}
	}
	if err := e.save(); err != nil {
		t.Fatal(err)
	}
	variables := filepath.Join(e.folder(e.kept[0]), servingFolder, "variables")
	if err := os.Remove(filepath.Join(variables, "variables.data-00000-of-00001")); err != nil {
		t.Fatal(err)
	}
	if err := os.RemoveAll(filepath.Join(e.folder(e.kept[1]), servingFolder, "variables")); err != nil {
		t.Fatal(err)
	}
	resumed := exports{dir: dir}
	if err := resumed.resume(); err != nil || !slices.Equal(resumed.kept, []exported{{"latest", 3, 30}}) {
		t.Errorf("%v are taken up, error %v", resumed.kept, err)
	}
}
