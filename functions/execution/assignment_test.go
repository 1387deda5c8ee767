package execution_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stoker-ml/stoker/functions/execution"
)

func TestMarkersNextToAnArtifactsOneFileDoNotCount(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		files      []string
		want, says string
	}{
		"alone":          {[]string{"best_hyperparameters.txt"}, "best_hyperparameters.txt", ""},
		"with a marker":  {[]string{"_SUCCESS", "best_hyperparameters.txt"}, "best_hyperparameters.txt", ""},
		"with sums":      {[]string{".schema.pbtxt.crc", "schema.pbtxt"}, "schema.pbtxt", ""},
		"two":            {[]string{"a.txt", "b.txt"}, "", "expected one file, got 2"},
		"a marker alone": {[]string{"_SUCCESS"}, "", "expected one file, got 0"},
	} {
		dir := t.TempDir()
		for _, file := range c.files {
			if err := os.WriteFile(filepath.Join(dir, file), nil, 0o600); err != nil {
				t.Fatal(err)
			}
		}
		got, err := execution.OnlyFile(dir)
		if c.says != "" && (err == nil || !strings.Contains(err.Error(), c.says)) || c.says == "" && (err != nil || filepath.Base(got) != c.want) {
			t.Errorf("%s: %q, %v", name, got, err)
		}
	}
}
