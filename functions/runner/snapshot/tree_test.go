package snapshot_test

import (
	"archive/tar"
	"archive/zip"
	"bytes"
	"compress/gzip"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stoker-ml/stoker/functions/runner/snapshot"
)

// tree is the files of a directory by their names.
type tree map[string]string

func (f tree) with(name, text string) tree {
	more := maps.Clone(f)
	more[name] = text
	return more
}

func (f tree) equals(other tree) bool { return maps.Equal(f, other) }

func (f tree) folder(t testing.TB) string {
	t.Helper()
	dir := t.TempDir()
	for name, text := range f {
		path := filepath.Join(dir, filepath.FromSlash(name))
		if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	return dir
}

// archive packs the files into an archive of the kind that name ends in.
func (f tree) archive(t testing.TB, name string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), name)
	packed := f.zip(t)
	if strings.HasSuffix(name, "gz") {
		packed = f.tar(t)
	}
	if err := os.WriteFile(path, packed, 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

func (f tree) zip(t testing.TB) []byte {
	t.Helper()
	var out bytes.Buffer
	w := zip.NewWriter(&out)
	for name, text := range f {
		file, err := w.CreateHeader(&zip.FileHeader{Name: name, Method: zip.Deflate, Modified: time.Unix(1e9, 0)})
		if err != nil {
			t.Fatal(err)
		}
		if _, err := file.Write([]byte(text)); err != nil {
			t.Fatal(err)
		}
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	return out.Bytes()
}

// tar packs as `tar czf m.tgz .` does.
func (f tree) tar(t testing.TB) []byte {
	t.Helper()
	headers := []*tar.Header{{Typeflag: tar.TypeDir, Name: "./", Mode: 0o755}}
	for _, name := range slices.Backward(slices.Sorted(maps.Keys(f))) {
		headers = append(headers, &tar.Header{Typeflag: tar.TypeReg, Name: "./" + name, Mode: 0o644, Size: int64(len(f[name]))})
	}
	return tarOf(t, f, headers...)
}

// tarOf writes headers, and the text of those that have a size.
func tarOf(t testing.TB, texts tree, headers ...*tar.Header) []byte {
	t.Helper()
	var out bytes.Buffer
	zipped := gzip.NewWriter(&out)
	w := tar.NewWriter(zipped)
	for _, header := range headers {
		if err := w.WriteHeader(header); err != nil {
			t.Fatal(err)
		}
		if header.Size > 0 {
			if _, err := w.Write([]byte(texts[strings.TrimPrefix(header.Name, "./")])); err != nil {
				t.Fatal(err)
			}
		}
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	if err := zipped.Close(); err != nil {
		t.Fatal(err)
	}
	return out.Bytes()
}

func readTree(t testing.TB, dir string) tree {
	t.Helper()
	files := tree{}
	err := filepath.WalkDir(dir, func(path string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() {
			return err
		}
		text, err := os.ReadFile(path)
		name, _ := filepath.Rel(dir, path)
		files[filepath.ToSlash(name)] = string(text)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return files
}

func take(t testing.TB, cache, path string) snapshot.Snapshot {
	t.Helper()
	s, err := snapshot.Take(t.Context(), cache, path)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func symlink(t testing.TB, to, path string) {
	t.Helper()
	if err := os.Symlink(to, path); err != nil {
		t.Fatal(err)
	}
}
