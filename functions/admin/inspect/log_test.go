package inspect_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stoker-ml/stoker/functions/admin/inspect"
)

const events = "../../../compute/tfevents/testdata/penguin/model_run"

// An Estimator exports its model into the directory of its log.
func TestAnEstimatorsFolderIsAModelAndHasALog(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	if err := os.CopyFS(filepath.Join(dir, "export/chicago-taxi/1546300800"), os.DirFS(artifacts["penguin-saved-model"])); err != nil {
		t.Fatal(err)
	}
	if err := os.CopyFS(dir, os.DirFS(events)); err != nil {
		t.Fatal(err)
	}
	r := look(t, dir, inspect.Options{})
	if r.Kind != inspect.KindModel || r.Model == nil || r.Events == nil || len(r.Events.Runs) != 2 {
		t.Fatalf("kind %s, model %+v, events %+v", r.Kind, r.Model, r.Events)
	}
	out := printed(r)
	for _, text := range []string{"model and event files", "serving_default", "run train", "run validation"} {
		if !strings.Contains(out, text) {
			t.Errorf("no %q in\n%s", text, out)
		}
	}
}

// A directory is not a log because a log is somewhere below it: in a tree of code, the log's own
// directory is.
func TestAFolderOfCodeIsNoLog(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	if err := os.CopyFS(filepath.Join(dir, "code/reader/testdata/run"), os.DirFS(events)); err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"code/a.go", "code/b.go", "code/reader/c.go", "code/reader/testdata/fuzz/FuzzEvents/0a1b"} {
		if err := os.MkdirAll(filepath.Dir(filepath.Join(dir, name)), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(dir, name), []byte("package reader"), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	r := look(t, dir, inspect.Options{})
	if r.Kind != inspect.KindFolder || len(r.Folder) != 1 || r.Folder[0].Path != "code/reader/testdata" || r.Folder[0].Kind != inspect.KindEvents {
		t.Errorf("kind %s: %+v", r.Kind, r.Folder)
	}
}

// A tuner leaves many checkpoints next to few event files.
func TestCheckpointsNextToALogLeaveItALog(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	if err := os.CopyFS(filepath.Join(dir, "execution0"), os.DirFS(events)); err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"trial.json", "checkpoint", "checkpoint.index", "checkpoint.data-00000-of-00001", "checkpoint.weights.h5"} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte("{}"), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	if r := look(t, dir, inspect.Options{}); r.Kind != inspect.KindEvents {
		t.Errorf("kind %s", r.Kind)
	}
}
