package python_test

import (
	"archive/zip"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// wheel writes a package of one module with text, and its requirements. Installers can install it
// without a registry.
func wheel(t *testing.T, name, version, text string, requires ...string) string {
	t.Helper()
	file, err := os.Create(filepath.Join(t.TempDir(), fmt.Sprintf("%s-%s-py3-none-any.whl", name, version)))
	if err != nil {
		t.Fatal(err)
	}
	info := fmt.Sprintf("%s-%s.dist-info/", name, version)
	metadata := fmt.Sprintf("Metadata-Version: 2.1\nName: %s\nVersion: %s\n", name, version)
	for _, r := range requires {
		metadata += "Requires-Dist: " + r + "\n"
	}
	files := [][2]string{
		{name + ".py", text},
		{info + "METADATA", metadata},
		{info + "WHEEL", "Wheel-Version: 1.0\nGenerator: test\nRoot-Is-Purelib: true\nTag: py3-none-any\n"},
	}
	var record strings.Builder
	archive := zip.NewWriter(file)
	for _, f := range append(files, [2]string{info + "RECORD", ""}) {
		fmt.Fprintf(&record, "%s,,\n", f[0])
		if strings.HasSuffix(f[0], "/RECORD") {
			f[1] = record.String()
		}
		w, err := archive.Create(f[0])
		if err != nil {
			t.Fatal(err)
		}
		if _, err := w.Write([]byte(f[1])); err != nil {
			t.Fatal(err)
		}
	}
	if err := archive.Close(); err != nil {
		t.Fatal(err)
	}
	if err := file.Close(); err != nil {
		t.Fatal(err)
	}
	return file.Name()
}
