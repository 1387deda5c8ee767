package settings

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/stoker-ml/stoker/infra/compat"
)

// A configuration file that was once valid stays valid: its keys are read, and together the frozen
// files have every key there is. A new key is frozen in a file of its own; a removed one is still
// read, for as long as a file may have it.
func TestConfigurationFilesOfEarlierVersionsAreRead(t *testing.T) {
	t.Parallel()
	files, err := filepath.Glob("testdata/frozen/config.*.yaml")
	if err != nil || len(files) == 0 {
		t.Fatal(files, err)
	}
	had := map[Key]bool{}
	for _, file := range files {
		compat.Unchanged(t, file)
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		said, err := parseFile(file, text)
		if err != nil {
			t.Error(err)
		}
		for key := range said {
			had[key] = true
		}
	}
	for _, setting := range All() {
		if !had[setting.Key] {
			t.Errorf("%s is in no file of testdata/frozen: add config.<what it is about>.yaml with it, and its line in sums", setting.Key)
		}
	}
}
