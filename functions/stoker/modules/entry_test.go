package modules

import (
	"bytes"
	"os"
	"path/filepath"
	"testing"
)

// Names are found in any module file at positions within it.
func FuzzOutlineByText(f *testing.F) {
	f.Add([]byte("import os\n\nasync def run_fn(a):\n  pass\nclass tuner_fn: pass\n"))
	f.Add([]byte("from a import (*\n# run_fn\n\xff\x00def \r"))
	f.Fuzz(func(t *testing.T, text []byte) {
		path := filepath.Join(t.TempDir(), "m.py")
		if err := os.WriteFile(path, text, 0o600); err != nil {
			t.Fatal(err)
		}
		all, err := outlinesByText([]string{path}, []string{"run_fn"})
		if err != nil || len(all) != 1 {
			t.Fatal(all, err)
		}
		for _, found := range all[0].Names {
			if found.Line < 1 || found.Line > 1+bytes.Count(text, []byte("\n")) || found.Column != 1 || !bytes.Contains(text, []byte(found.Name)) {
				t.Errorf("%+v", found)
			}
		}
	})
}
