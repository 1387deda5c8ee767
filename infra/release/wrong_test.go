package main

import (
	"maps"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
	"time"
)

// Each check of a release finds the defect that it is for.
func TestChecksFindWhatIsWrongWithARelease(t *testing.T) {
	s := ready(t)
	archive := s.archive("linux_amd64")
	files, err := unpack(archive)
	must(t, err)
	modules, err := output(".", "go", "version", "-m", put(t, files["stoker"]))
	must(t, err)
	document, err := os.ReadFile(archive + ".cdx.json")
	must(t, err)

	without := maps.Clone(files)
	delete(without, "LICENSE")
	wrong(t, "a file is missing", verifyFiles(without, committed(t, s)), "no LICENSE")
	unlicensed := maps.Clone(files)
	delete(unlicensed, "THIRD_PARTY.txt")
	wrong(t, "licenses of others are missing", verifyFiles(unlicensed, committed(t, s)), "no THIRD_PARTY.txt")
	wrong(t, "a time is this machine's", verifyFiles(files, time.Now()), "want")
	wrong(t, "a file is not in the SBOM", verifySBOM(document, modules, with(files, "extra"), s.version), "file ")
	wrong(t, "a module is not in the SBOM", verifySBOM(document, modules+"\n\tdep\texample.com/m\tv1.0.0\th1:x", files, s.version), "example.com/m v1.0.0")
	wrong(t, "another version", verifySBOM(document, modules, files, "v9.9.9"), "want stoker v9.9.9")
	wrong(t, "another processor", verifyBinary(files["stoker"].content, "linux", "arm64"), "GOARCH")
	wrong(t, "another processor, by its file alone", verifyELF(files["stoker"].content, "arm64"), "it is for EM_X86_64")
	wrong(t, "another version", verifyVersion([]byte(`{"version": "dev", "os": "linux", "arch": "amd64"}`), s.version, s.commit, "linux", "amd64"), "it says")
	if runtime.GOOS == "linux" {
		program, err := os.ReadFile("/bin/sh")
		must(t, err)
		wrong(t, "it is not static", verifyELF(program, runtime.GOARCH), "not static")
	}
	wrong(t, "a byte is another", verifySums(flipped(t, s)), "want")
	copied := copyOf(t, s.dist)
	must(t, os.WriteFile(filepath.Join(copied, "stoker_new.tar.gz"), nil, 0o644))
	wrong(t, "a file has no sum", verifySums(copied), "sums for")
}

func wrong(t *testing.T, what string, err error, want string) {
	t.Helper()
	if err == nil || !strings.Contains(err.Error(), want) {
		t.Errorf("%s: found %v, want %q", what, err, want)
	}
}

func with(files map[string]entry, content string) map[string]entry {
	more := maps.Clone(files)
	more["extra"] = entry{content: []byte(content)}
	return more
}

// flipped returns a copy of a release in which one bit of one archive is flipped.
func flipped(t *testing.T, s snapshot) string {
	t.Helper()
	dir := copyOf(t, s.dist)
	path := filepath.Join(dir, filepath.Base(s.archive("darwin_arm64")))
	content, err := os.ReadFile(path)
	must(t, err)
	content[len(content)/2] ^= 1
	must(t, os.WriteFile(path, content, 0o644))
	return dir
}

func copyOf(t *testing.T, dist string) string {
	t.Helper()
	dir := t.TempDir()
	files, err := filepath.Glob(filepath.Join(dist, "*"))
	must(t, err)
	for _, file := range files {
		if info, err := os.Stat(file); err != nil || info.IsDir() {
			continue
		}
		content, err := os.ReadFile(file)
		must(t, err)
		must(t, os.WriteFile(filepath.Join(dir, filepath.Base(file)), content, 0o644))
	}
	return dir
}
