package snapshot_test

import (
	"errors"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"github.com/stoker-ml/stoker/functions/guest/snapshot"
)

func TestFilesThatAModuleNamesAndThatStayBehindAreFound(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	for name, text := range map[string]string{
		"entry.py":           "import os\nimport helpers\nfrom layers import wide\nWORDS = os.path.join(os.path.dirname(__file__), 'words.txt')\n",
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
	if want := []string{"assets/", "layers/", "limits.json", "words.txt"}; err != nil || !slices.Equal(left, want) {
		t.Errorf("%q, %v, want %q", left, err, want)
	}
	if left, err := snapshot.LeftBehind(dir); err != nil || left != nil {
		t.Errorf("of a folder all comes: %q, %v", left, err)
	}
}
