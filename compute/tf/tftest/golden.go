package tftest

import (
	"bytes"
	"compress/gzip"
	"encoding/base64"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"math"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"sync"
	"testing"
)

// maxGolden limits the answers of one test, in bytes of JSON before compression.
const maxGolden = 32 << 20

// kept is TensorFlow's answer to one question.
type kept struct {
	Output json.RawMessage `json:"output,omitempty"`
	Error  string          `json:"error,omitempty"`
	// Files are the files that the script wrote below the question's paths, by path and name there.
	Files []map[string][]byte `json:"files,omitempty"`
}

// goldenFile holds the answers to one test's questions, by the digest of the question. Its methods
// may be called by several goroutines.
type goldenFile struct {
	path    string
	mu      sync.Mutex
	answers map[string]kept
	loadErr error
}

var goldenFiles sync.Map // of *goldenFile, by path

// goldenOf returns the file of a test and its subtests. A test that records begins with an empty
// one.
func goldenOf(t testing.TB, m mode) *goldenFile {
	t.Helper()
	test, _, _ := strings.Cut(t.Name(), "/")
	path, err := filepath.Abs(filepath.Join("testdata", "tensorflow", test+".json.gz"))
	if err != nil {
		t.Fatal(err)
	}
	fresh := &goldenFile{path: path, answers: map[string]kept{}}
	fresh.mu.Lock()
	defer fresh.mu.Unlock()
	found, loaded := goldenFiles.LoadOrStore(path, fresh)
	if !loaded && m != record {
		fresh.answers, fresh.loadErr = readGolden(path)
	}
	return found.(*goldenFile)
}

// readGolden returns nil if no answers are kept.
func readGolden(path string) (map[string]kept, error) {
	f, err := os.Open(path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("open answers of TensorFlow: %w", err)
	}
	defer f.Close()
	z, err := gzip.NewReader(f)
	if err != nil {
		return nil, fmt.Errorf("read %s: %w", path, err)
	}
	var answers map[string]kept
	if err := json.NewDecoder(io.LimitReader(z, maxGolden)).Decode(&answers); err != nil {
		return nil, fmt.Errorf("read %s: %w", path, err)
	}
	return answers, nil
}

// find returns the answer to a question and whether there is one; none reports whether the test
// keeps no answers at all.
func (g *goldenFile) find(key string) (k kept, found, none bool, err error) {
	g.mu.Lock()
	defer g.mu.Unlock()
	k, found = g.answers[key]
	return k, found, g.answers == nil, g.loadErr
}

// check fails if the file keeps answers, but not this one. A test without a file keeps none.
func (g *goldenFile) check(key string, now kept) error {
	was, found, none, err := g.find(key)
	if err != nil || none {
		return err
	}
	if !found {
		err = errors.New("no answer to this question is kept")
	} else if (was.Error == "") != (now.Error == "") {
		err = fmt.Errorf("kept error %q, now %q", was.Error, now.Error)
	} else if was.Error == "" {
		err = differs(was.Output, now.Output)
	}
	if err != nil {
		return fmt.Errorf("%s is not current: %w; `task golden` makes it again", g.path, err)
	}
	return nil
}

// keep adds an answer and writes the file.
func (g *goldenFile) keep(key string, k kept) error {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.answers[key] = k
	text, err := json.Marshal(g.answers) // sorted by key: the same answers make the same bytes
	if err != nil {
		return fmt.Errorf("encode answers of TensorFlow: %w", err)
	}
	if len(text) > maxGolden {
		return fmt.Errorf("%s would hold %d bytes of JSON, at most %d are kept: ask with RunLive", g.path, len(text), maxGolden)
	}
	var packed bytes.Buffer
	z, err := gzip.NewWriterLevel(&packed, gzip.BestCompression)
	if err != nil {
		return err
	}
	if _, err := z.Write(text); err != nil {
		return err
	}
	if err := z.Close(); err != nil {
		return err
	}
	if err := os.MkdirAll(filepath.Dir(g.path), 0o755); err != nil {
		return err
	}
	return os.WriteFile(g.path, packed.Bytes(), 0o644)
}

// differs returns where two answers differ; numbers may differ by a thousandth, since processors
// round differently. The tests compare more exactly, each with its own tolerance: this only finds
// answers that are no longer TensorFlow's.
func differs(was, is json.RawMessage) error {
	var a, b any
	if err := errors.Join(json.Unmarshal(was, &a), json.Unmarshal(is, &b)); err != nil {
		return err
	}
	return differsAt("answer", a, b)
}

func differsAt(at string, a, b any) error {
	switch x := a.(type) {
	case map[string]any:
		y, ok := b.(map[string]any)
		if !ok || len(x) != len(y) {
			return fmt.Errorf("%s: kept %.80v, now %.80v", at, a, b)
		}
		for _, name := range slices.Sorted(maps.Keys(x)) {
			if err := differsAt(at+"."+name, x[name], y[name]); err != nil {
				return err
			}
		}
		return nil
	case []any:
		y, ok := b.([]any)
		if !ok || len(x) != len(y) {
			return fmt.Errorf("%s: kept %.80v, now %.80v", at, a, b)
		}
		for i := range x {
			if err := differsAt(fmt.Sprintf("%s[%d]", at, i), x[i], y[i]); err != nil {
				return err
			}
		}
		return nil
	case float64:
		if y, ok := b.(float64); ok && close(x, y) {
			return nil
		}
	case string:
		if y, ok := b.(string); ok && closeFloats(x, y) {
			return nil
		}
	}
	if !reflect.DeepEqual(a, b) {
		return fmt.Errorf("%s: kept %.80v, now %.80v", at, a, b)
	}
	return nil
}

func close(x, y float64) bool {
	return x == y || math.IsNaN(x) && math.IsNaN(y) || math.Abs(x-y) <= 1e-3*max(1, math.Abs(x), math.Abs(y))
}

// closeFloats reports whether two texts are the base64 of float32 numbers, in which form some
// scripts give arrays, that are close.
func closeFloats(a, b string) bool {
	x, errX := base64.StdEncoding.DecodeString(a)
	y, errY := base64.StdEncoding.DecodeString(b)
	if errX != nil || errY != nil || len(x) != len(y) || len(x)%4 != 0 {
		return false
	}
	number := func(data []byte) float64 { return float64(math.Float32frombits(binary.LittleEndian.Uint32(data))) }
	for i := 0; i < len(x); i += 4 {
		if !close(number(x[i:]), number(y[i:])) {
			return false
		}
	}
	return true
}
