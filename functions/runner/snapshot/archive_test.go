package snapshot

import (
	"archive/tar"
	"archive/zip"
	"bytes"
	"compress/gzip"
	"context"
	"errors"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// small are limits that a test reaches.
var small = limits{files: 4, bytes: 4096}

// item is an entry of an archive made by hand.
type item struct {
	name string
	text string
	kind byte // tar's type flag; 0 is a file
	mode os.FileMode
}

func TestAnArchiveThatReachesOutIsRefusedByTheNameOfItsEntry(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name string
		item item
		want string
	}{
		{"out by dots", item{name: "../x.py"}, `entry "../x.py": expected a relative name`},
		{"out by dots further down", item{name: "a/../../x.py"}, `entry "a/../../x.py": expected a relative name`},
		{"dots alone", item{name: "a/../x.py"}, `expected a relative name`},
		{"absolute", item{name: "/etc/x.py"}, `entry "/etc/x.py": expected a relative name`},
		{"of Windows", item{name: `a\x.py`}, `expected a relative name`},
		{"out of a hidden folder", item{name: ".a/../../x.py"}, `expected a relative name`},
		{"nothing between slashes", item{name: "a//x.py"}, `expected a relative name`},
		{"a control character", item{name: "a\x01.py"}, `expected a name in UTF-8 without control characters`},
		{"a link", item{name: "x.py", kind: tar.TypeSymlink, mode: os.ModeSymlink}, `entry "x.py": neither a file nor a folder; links are not followed`},
		{"a device", item{name: "x.py", kind: tar.TypeChar, mode: os.ModeDevice}, `entry "x.py": neither a file nor a folder`},
		{"a pipe", item{name: "x.py", kind: tar.TypeFifo, mode: os.ModeNamedPipe}, `entry "x.py": neither a file nor a folder`},
		{"twice", item{name: "penguin.py"}, `penguin.py is listed twice`},
		{"twice, by another way to write it", item{name: "./penguin.py"}, `penguin.py is listed twice`},
		{"below a file", item{name: "penguin.py/x.py"}, `penguin.py is both a file and the folder of penguin.py/x.py`},
		{"too deep", item{name: strings.Repeat("a/", maxDepth) + "x.py"}, `nested more than 32 folders deep`},
		{"too deep and hidden", item{name: "." + strings.Repeat("a/", maxDepth) + "x.py"}, `nested more than 32 folders deep`},
		{"too long", item{name: strings.Repeat("a", maxName) + ".py"}, `nested more than 32 folders deep, or its name is longer than 1024 bytes`},
		{"too large", item{name: "x.py", text: strings.Repeat("0", 4097)}, `holds more than 4096 bytes`},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			items := []item{{name: "penguin.py"}, tt.item}
			refuses(t, zipOf(t, items), "m.zip", tt.want)
			refuses(t, tarOf(t, items), "m.tgz", tt.want)
		})
	}
	t.Run("a hard link", func(t *testing.T) {
		t.Parallel()
		refuses(t, tarOf(t, []item{{name: "x.py", kind: tar.TypeLink}}), "m.tgz", "links are not followed")
	})
	t.Run("a file in a file", func(t *testing.T) {
		t.Parallel()
		items := []item{{name: "a/x.py"}, {name: "a"}}
		refuses(t, zipOf(t, items), "m.zip", "a is listed twice")
	})
}

func TestAnArchiveThatIsTooMuchIsRefused(t *testing.T) {
	t.Parallel()
	many := []item{{name: "a.py"}, {name: "b.py"}, {name: ".c"}, {name: ".d"}}
	for name, pack := range packers {
		accepts(t, pack(t, many), name) // the largest allowed number
		refuses(t, pack(t, append(many, item{name: ".e"})), name, "holds more than 4 files")
		refuses(t, pack(t, []item{{name: "a.py", text: strings.Repeat("0", 2048)}, {name: "b.py", text: strings.Repeat("0", 2049)}}), name, "holds more than 4096 bytes")
	}
	// An entry that unpacks to too much is refused even if it would be left out.
	refuses(t, tarOf(t, []item{{name: ".hidden", text: strings.Repeat("0", 1<<20)}}), "m.tgz", "holds more than 4096 bytes")
	for name, pack := range packers { // a bomb, a thousand times as large as it seems
		bomb := pack(t, []item{{name: "a.py", text: strings.Repeat("0", 4_000_000)}})
		if len(bomb) > 4096 {
			t.Fatalf("%s: %d bytes are refused for what they are, and not for what they become", name, len(bomb))
		}
		refuses(t, bomb, name, "holds more than 4096 bytes")
	}
	dir := t.TempDir()
	for _, name := range []string{"a.py", "b.py", "c.py", "d.py", "e.py"} {
		if err := os.WriteFile(filepath.Join(dir, name), nil, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := take(t.Context(), store{t.TempDir()}, dir, small); !errors.Is(err, errLimit) {
		t.Errorf("a folder: %v, want too many files", err)
	}
	refuses(t, bytes.Repeat([]byte("x"), 4097), "m.zip", "holds more than 4096 bytes")
}

func TestABrokenArchiveIsRefused(t *testing.T) {
	t.Parallel()
	for name, pack := range packers {
		whole := pack(t, []item{{name: "penguin.py", text: strings.Repeat("print()\n", 100)}})
		refuses(t, whole[:len(whole)/2], name, "")
	}
	t.Run("another content than its sum says", func(t *testing.T) {
		t.Parallel()
		packed := zipOf(t, []item{{name: "penguin.py", text: "print(1)"}})
		// Stored, because compression would not make it shorter.
		at := bytes.Index(packed, []byte("print(1)"))
		packed[at] = 'P'
		refuses(t, packed, "m.zip", `entry "penguin.py": zip: checksum error`)
	})
	t.Run("encrypted", func(t *testing.T) {
		t.Parallel()
		packed := zipOf(t, []item{{name: "penguin.py", text: "print(1)"}})
		packed[bytes.Index(packed, []byte("PK\x01\x02"))+8] |= encrypted
		refuses(t, packed, "m.zip", `entry "penguin.py": is encrypted`)
	})
}

func TestWhatGitSaysOfItsArchiveIsNoFile(t *testing.T) {
	t.Parallel()
	accepts(t, tarOf(t, []item{{name: "pax_global_header", kind: tar.TypeXGlobalHeader}, {name: "penguin.py"}}), "m.tar.gz")
}

// If one kind of archive is accepted, its digest equals that of the directory that it unpacks to,
// and nothing is ever written elsewhere.
func FuzzArchive(f *testing.F) {
	for _, items := range [][]item{
		{{name: "penguin.py", text: "def run_fn(a): pass\n"}},
		{{name: "a/b.py"}, {name: "a"}}, {{name: "../x"}}, {{name: "./a.py"}, {name: ".git/x"}}, {{name: "x", kind: tar.TypeSymlink, mode: os.ModeSymlink}},
	} {
		f.Add(zipOf(f, items), true)
		f.Add(plainTar(f, items), false)
	}
	f.Fuzz(func(t *testing.T, packed []byte, zipped bool) {
		each := zipWalk(packed)
		if !zipped {
			each = tarWalk(packed)
		}
		want, err := digestOf(t.Context(), each, small)
		if err != nil {
			return
		}
		dir := t.TempDir()
		inner := filepath.Join(dir, "in")
		if err := os.Mkdir(inner, 0o700); err != nil {
			t.Fatal(err)
		}
		if got, err := copyTo(t.Context(), inner, each, small); err != nil || got != want {
			t.Fatalf("copied %s, %v, want %s", got, err, want)
		}
		if got, err := digestOf(t.Context(), folder(inner), small); err != nil || got != want {
			t.Fatalf("the copy has %s, %v, want %s", got, err, want)
		}
		if others, err := os.ReadDir(dir); err != nil || len(others) != 1 {
			t.Fatalf("next to the copy are %v, %v", others, err)
		}
	})
}

func zipWalk(packed []byte) walk {
	return func(ctx context.Context, do func(string, io.Reader) error) error {
		r, err := zip.NewReader(bytes.NewReader(packed), int64(len(packed)))
		if err != nil {
			return err
		}
		return zipEntries(ctx, r, small, do)
	}
}

// tarWalk packs the fuzzed bytes: otherwise gzip's checksum would hide the tar from the fuzzer.
func tarWalk(plain []byte) walk {
	var packed bytes.Buffer
	w := gzip.NewWriter(&packed)
	_, _ = w.Write(plain) // to memory
	_ = w.Close()
	return func(ctx context.Context, do func(string, io.Reader) error) error {
		return tarEntries(ctx, bytes.NewReader(packed.Bytes()), small, do)
	}
}

var packers = map[string]func(testing.TB, []item) []byte{"m.zip": zipOf, "m.tar.gz": tarOf}

func zipOf(t testing.TB, items []item) []byte {
	t.Helper()
	var out bytes.Buffer
	w := zip.NewWriter(&out)
	for _, i := range items {
		header := &zip.FileHeader{Name: i.name, Method: zip.Deflate}
		if len(i.text) < 10 {
			header.Method = zip.Store
		}
		header.SetMode(0o644 | i.mode)
		file, err := w.CreateHeader(header)
		if err == nil {
			_, err = io.WriteString(file, i.text)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	return out.Bytes()
}

func tarOf(t testing.TB, items []item) []byte {
	t.Helper()
	var out bytes.Buffer
	w := gzip.NewWriter(&out)
	if _, err := w.Write(plainTar(t, items)); err != nil {
		t.Fatal(err)
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	return out.Bytes()
}

func plainTar(t testing.TB, items []item) []byte {
	t.Helper()
	var out bytes.Buffer
	w := tar.NewWriter(&out)
	for _, i := range items {
		header := &tar.Header{Name: i.name, Typeflag: i.kind, Size: int64(len(i.text)), Mode: 0o644}
		switch i.kind {
		case 0:
			header.Typeflag = tar.TypeReg
		case tar.TypeSymlink, tar.TypeLink:
			header.Linkname = "/etc/passwd"
		case tar.TypeXGlobalHeader:
			header = &tar.Header{Name: i.name, Typeflag: i.kind, PAXRecords: map[string]string{"comment": "0123"}}
		}
		if err := w.WriteHeader(header); err != nil {
			t.Fatal(err)
		}
		if _, err := io.WriteString(w, i.text); err != nil {
			t.Fatal(err)
		}
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	return out.Bytes()
}

func accepts(t *testing.T, packed []byte, name string) {
	t.Helper()
	if _, err := take(t.Context(), store{t.TempDir()}, write(t, packed, name), small); err != nil {
		t.Errorf("%s: %v", name, err)
	}
}

// refuses checks that nothing is kept.
func refuses(t *testing.T, packed []byte, name, want string) {
	t.Helper()
	cache, path := t.TempDir(), write(t, packed, name)
	_, err := take(t.Context(), store{cache}, path, small)
	if invalid, ok := errors.AsType[*Invalid](err); !ok || invalid.Path != path || !strings.Contains(err.Error(), want) {
		t.Errorf("%s: %v, want an *Invalid with %s", name, err, want)
	}
	if left, _ := os.ReadDir(cache); len(left) != 0 {
		t.Errorf("%s left %v", name, left)
	}
}

func write(t *testing.T, packed []byte, name string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), name)
	if err := os.WriteFile(path, packed, 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}
