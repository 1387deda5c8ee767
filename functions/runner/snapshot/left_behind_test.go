package snapshot_test

import (
	"errors"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"github.com/stoker-ml/stoker/functions/runner/snapshot"
)

func TestFilesThatAModuleNamesAndThatStayBehindAreFound(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	for name, text := range map[string]string{
		"entry.py":           "import os\nimport helpers\nfrom layers import wide\nWORDS = os.path.join(HERE, 'words.txt')\n",
		"helpers.py":         "LIMITS = 'limits.json'\nASSETS = f'{here}/assets'\n",
		"words.txt":          "a",
		"limits.json":        "{}",
		"README.md":          "read words.txt",
		"pipeline.yaml":      "module: ./entry.py",
		"layers/__init__.py": "",
		"assets/a.bin":       "",
		"notes/n.md":         "",
		"__pycache__/x.pyc":  "",
		".git/words":         "",
	} {
		path := filepath.Join(dir, name)
		if err := errors.Join(os.MkdirAll(filepath.Dir(path), 0o755), os.WriteFile(path, []byte(text), 0o600)); err != nil {
			t.Fatal(err)
		}
	}
	left, err := snapshot.LeftBehind(filepath.Join(dir, "entry.py"))
	if want := []string{"assets/", "layers/", "limits.json", "words.txt"}; err != nil || !slices.Equal(left.Named, want) || left.Other != nil {
		t.Errorf("%q, %v, want %q", left, err, want)
	}
	if left, err := snapshot.LeftBehind(dir); err != nil || left.Named != nil || left.Other != nil {
		t.Errorf("of a folder all comes: %q, %v", left, err)
	}
}

// Code may read files whose names are not in it.
func TestFilesThatAModuleMayReadAndThatStayBehindAreFound(t *testing.T) {
	t.Parallel()
	all := []string{"assets/", "limits.json", "words.txt"}
	for code, want := range map[string][]string{
		"open(NAME + '.txt')":                            {"words.txt"},
		"open('%s.txt' % name)":                          {"words.txt"},
		"open(f'{name}.json')":                           {"limits.json"},
		"open(here + '/words' + ending)":                 {"words.txt"},
		"glob.glob(here + '/*')":                         all,
		"tf.io.gfile.listdir(here)":                      all,
		"os.listdir()":                                   all,
		"pathlib.Path('.').iterdir()":                    all,
		"open(os.path.dirname(__file__) + '/' + name)":   all,
		"importlib.resources.files(package)":             all,
		"tf.data.TFRecordDataset(fn_args.train_files)":   nil,
		"with open(fn_args.schema_path) as f: f.read()":  nil,
		"print('words', 'a text about global listdirs')": {"words.txt"},
	} {
		dir := t.TempDir()
		for name, text := range map[string]string{"entry.py": code + "\n", "words.txt": "a", "limits.json": "{}", "assets/a.bin": "", "other.py": ""} {
			path := filepath.Join(dir, name)
			if err := errors.Join(os.MkdirAll(filepath.Dir(path), 0o755), os.WriteFile(path, []byte(text), 0o600)); err != nil {
				t.Fatal(err)
			}
		}
		left, err := snapshot.LeftBehind(filepath.Join(dir, "entry.py"))
		if err != nil || left.Named != nil || !slices.Equal(left.Other, want) {
			t.Errorf("%s: %q, %v, want %q", code, left, err, want)
		}
	}
}
