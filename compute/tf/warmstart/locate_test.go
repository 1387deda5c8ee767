package warmstart

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// put copies penguin's SavedModel into a folder below dir.
func put(t *testing.T, dir string, below ...string) {
	t.Helper()
	into := filepath.Join(append([]string{dir}, below...)...)
	if err := os.CopyFS(into, os.DirFS(filepath.Join(penguin, "Format-Serving"))); err != nil {
		t.Fatal(err)
	}
}

func TestAModelIsFoundWhereverTFXPutIt(t *testing.T) {
	t.Parallel()
	for _, below := range []string{
		"", "Format-Serving", "serving_model_dir", "Format-Serving/export/taxi/1577836800", "serving_model_dir/export/taxi/1", "export/taxi/1",
	} {
		dir := t.TempDir()
		put(t, dir, below)
		s, err := Open(dir)
		if err != nil || s.Path != filepath.Join(dir, below) {
			t.Errorf("%s: %+v, %v", below, s, err)
		}
		if serving, err := Serving(dir); err != nil || serving != filepath.Join(dir, below) {
			t.Errorf("%s: serving at %s, %v", below, serving, err)
		}
	}
	for _, path := range []string{"saved_model.pb", "variables/variables", "variables/variables.index", "variables"} {
		if _, err := Open(filepath.Join(penguin, "Format-Serving", path)); err != nil {
			t.Error(err)
		}
	}
}

func TestWhatIsNoModelIsNamed(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	put(t, dir, "two", "Format-Serving", "export", "taxi", "1")
	put(t, dir, "two", "Format-Serving", "export", "taxi", "2")
	put(t, dir, "bare")
	put(t, dir, "torn")
	put(t, dir, "checkpoints")
	for _, err := range []error{
		os.RemoveAll(filepath.Join(dir, "bare", "variables")),
		os.Truncate(filepath.Join(dir, "torn", "saved_model.pb"), 1000),
		os.WriteFile(filepath.Join(dir, "checkpoints", "checkpoint"), []byte("model_checkpoint_path: \"/etc/passwd\"\n"), 0o644),
		os.Remove(filepath.Join(dir, "checkpoints", "saved_model.pb")),
		os.WriteFile(filepath.Join(dir, "text"), []byte("weights"), 0o644),
		os.WriteFile(filepath.Join(dir, "old.h5"), []byte("\x89HDF\r\n\x1a\n"), 0o644),
		os.WriteFile(filepath.Join(dir, "new.keras"), []byte("PK\x03\x04"), 0o644),
		os.Mkdir(filepath.Join(dir, "empty"), 0o755),
	} {
		if err != nil {
			t.Fatal(err)
		}
	}
	for path, text := range map[string]string{
		"two":         "export/taxi holds 2 entries, expected one",
		"bare":        "bare has no variables",
		"torn":        "saved_model.pb: proto:",
		"checkpoints": "the file checkpoint names passwd, which isn't there",
		"text":        "neither a SavedModel nor a checkpoint",
		"empty":       "holds neither Format-Serving nor saved_model.pb, and 0 checkpoints",
		"old.h5":      "old.h5 is HDF5, which isn't read: load it into its model",
		"new.keras":   "new.keras is a zip in Keras's own format, which isn't read",
		"absent":      "no such file",
	} {
		_, err := Open(filepath.Join(dir, path))
		if err == nil || !strings.Contains(err.Error(), text) || !strings.Contains(err.Error(), path) {
			t.Errorf("%s: error %v, want one that says %q", path, err, text)
		}
	}
}

// A normalization's mean has the shape of a bias, and must not be taken for one.
func TestWeightsAreOfTheKindThatTheirNameSays(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		shape []int
		kind  string
	}{
		"dense/kernel": {[]int{2, 3}, "kernel"}, "_kernel": {[]int{2, 3}, "kernel"}, "linear/company/weights": {[]int{5, 1}, "kernel"},
		"m/w":        {[]int{2, 3}, "kernel"},
		"dense/bias": {[]int{3}, "bias"}, "m/b": {[]int{3}, "bias"}, "normalization/mean": {[]int{3}, "mean"},
		"normalization/variance":    {[]int{3}, "variance"},
		"batch_normalization/gamma": {[]int{3}, "gamma"}, "embedding/embeddings": {[]int{5, 2}, "embeddings"}, "m/rate": {nil, "scalar"},
	} {
		if got := kind(name, c.shape); got != c.kind {
			t.Errorf("%s is a %s, want %s", name, got, c.kind)
		}
	}
	for name, counted := range map[string]bool{
		"dense/kernel": true, "dense_12/kernel": true, "model/dense_1/bias": true, "batch_normalization_2/gamma": true,
		"dnn/hiddenlayer_0/kernel": true, "dnn/logits/bias": true,
		"head/kernel": false, "dense_1a/kernel": false, "logits/kernel": false, "my_dense/kernel": false, "kernel": false,
	} {
		if isPositional(name) != counted {
			t.Errorf("%s: positional is %v", name, !counted)
		}
	}
}

func TestNumbersInNamesAreSortedAsNumbers(t *testing.T) {
	t.Parallel()
	for _, pair := range [][2]string{{"layer_2", "layer_10"}, {"layer_2", "layer_2/bias"}, {"a", "b"}, {"layer_02", "layer_3"}} {
		if compareNatural(pair[0], pair[1]) >= 0 || compareNatural(pair[1], pair[0]) <= 0 || compareNatural(pair[0], pair[0]) != 0 {
			t.Errorf("%s is not before %s", pair[0], pair[1])
		}
	}
}
