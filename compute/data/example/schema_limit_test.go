package example

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// A file of a few megabytes must not take gigabytes of the worker's memory.
func TestASchemaThatIsTooLargeIsRefusedByItsName(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "schema.pbtxt")
	for name, c := range map[string]struct{ text, want string }{
		"bytes":                        {strings.Repeat("# a long comment\n", 1<<20), "longer than 16777216 bytes"},
		"features, binary":             {strings.Repeat("\x0a\x00", maxSchemaFeatures+1), "100001 features, expected at most 100000"},
		"features, text":               {strings.Repeat("feature{}", maxSchemaFeatures+1), "100001 features, expected at most 100000"},
		"messages that are not parsed": {strings.Repeat("\x0a\x00", maxSchemaMessages+1), "1000001 messages in it"},
		"as a text":                    {strings.Repeat("feature{}", maxSchemaMessages+1), "1000001 messages in it"},
	} {
		if err := os.WriteFile(path, []byte(c.text), 0o600); err != nil {
			t.Fatal(err)
		}
		if _, err := ReadSchema(path); err == nil || !strings.Contains(err.Error(), c.want) || !strings.Contains(err.Error(), path) {
			t.Errorf("%s: got %.300v, want %s", name, err, c.want)
		}
	}
}
