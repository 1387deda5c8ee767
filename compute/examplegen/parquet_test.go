package examplegen_test

import (
	"bytes"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/parquet-go/parquet-go"

	"github.com/stoker-ml/stoker/compute/example"
	"github.com/stoker-ml/stoker/compute/examplegen"
)

type fruit struct {
	Name  string   `parquet:"name"`
	Size  *float64 `parquet:"size,optional"`
	Count int32    `parquet:"count"`
	Ripe  bool     `parquet:"ripe"`
	Part  string   `parquet:"part"`
}

func parquetFile[T any](t testing.TB, rows []T, options ...parquet.WriterOption) string {
	t.Helper()
	var out bytes.Buffer
	w := parquet.NewGenericWriter[T](&out, options...)
	if _, err := w.Write(rows); err != nil {
		t.Fatal(err)
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(t.TempDir(), "data.parquet")
	if err := os.WriteFile(path, out.Bytes(), 0o644); err != nil {
		t.Fatal(err)
	}
	return path
}

func TestAParquetFileBecomesExamples(t *testing.T) {
	t.Parallel()
	rows := []fruit{{"apple", new(1.5), 3, true, "train"}, {"pear", nil, -1, false, "eval"}}
	for _, codec := range []parquet.WriterOption{parquet.Compression(&parquet.Snappy), parquet.Compression(&parquet.Zstd), parquet.Compression(&parquet.Gzip)} {
		to := t.TempDir()
		r, err := examplegen.Convert(t.Context(), parquetFile(t, rows, codec), to, examplegen.Options{Column: "part"})
		if err != nil {
			t.Fatal(err)
		}
		want := examplegen.Report{Splits: map[string]int64{"train": 1, "eval": 1}, Columns: map[string]string{"count": "int64", "name": "string", "ripe": "int64", "size": "float"}}
		if diff := cmp.Diff(want, r); diff != "" {
			t.Error(diff)
		}
		apple := new(example.Builder).Int64("count", 3).String("name", "apple").Int64("ripe", 1).Float("size", 1.5).Build()
		pear := new(example.Builder).Int64("count", -1).String("name", "pear").Int64("ripe", 0).Float("size").Build()
		if got := records(t, filepath.Join(to, "Split-*", "*")); !cmp.Equal(got, []string{string(pear), string(apple)}) {
			t.Errorf("got %q", got)
		}
	}
}

func TestColumnsThatHaveNoTypeInExamplesAreNamed(t *testing.T) {
	t.Parallel()
	for want, path := range map[string]string{
		`column "list": is nested or repeated`: parquetFile(t, []struct {
			List []int64 `parquet:"list"`
		}{{[]int64{1}}}),
		`column "inner": is nested or repeated`: parquetFile(t, []struct {
			Inner struct{ A int64 } `parquet:"inner"`
		}{{}}),
		`column "when": has type TIMESTAMP`: parquetFile(t, []struct {
			When time.Time `parquet:"when"`
		}{{time.Unix(1, 0)}}),
		`column "n": is an unsigned integer: write int64`: parquetFile(t, []struct {
			N uint64 `parquet:"n"`
		}{{1}}),
		"not a readable Parquet file": write(t, "a.parquet", "PAR1 and nothing else"),
	} {
		_, err := examplegen.Convert(t.Context(), path, t.TempDir(), examplegen.Options{})
		if !errors.Is(err, example.ErrInput) || !strings.Contains(err.Error(), want) {
			t.Errorf("got %v, want %s", err, want)
		}
	}
}

// A damaged file is an error of the file, never a panic.
func TestDamagedParquetFilesAreRefused(t *testing.T) {
	t.Parallel()
	good, err := os.ReadFile(parquetFile(t, []fruit{{"apple", new(1.5), 3, true, "train"}, {"pear", nil, -1, false, "eval"}}))
	if err != nil {
		t.Fatal(err)
	}
	for at := 0; at < len(good); at += 3 {
		bad := bytes.Clone(good)
		bad[at] ^= 0x11
		path := filepath.Join(t.TempDir(), "bad.parquet")
		if err := os.WriteFile(path, bad, 0o644); err != nil {
			t.Fatal(err)
		}
		if _, err := examplegen.Convert(t.Context(), path, t.TempDir(), examplegen.Options{}); err != nil && !errors.Is(err, example.ErrInput) {
			t.Errorf("byte %d: %v", at, err)
		}
	}
}

// Whatever bytes a file has, it is refused as bad input or becomes Examples. Run it with a limit of address space: see Unbounded.
func FuzzParquet(f *testing.F) {
	good, err := os.ReadFile(parquetFile(f, []fruit{{"apple", new(1.5), 3, true, "train"}, {"pear", nil, -1, false, "eval"}}))
	if err != nil {
		f.Fatal(err)
	}
	f.Add(good)
	dir := f.TempDir()
	f.Fuzz(func(t *testing.T, data []byte) {
		path := filepath.Join(dir, "data.parquet")
		if err := os.WriteFile(path, data, 0o644); err != nil {
			t.Fatal(err)
		}
		if _, err := examplegen.Convert(t.Context(), path, filepath.Join(dir, "to"), examplegen.Options{}); err != nil && !errors.Is(err, example.ErrInput) {
			t.Error(err)
		}
	})
}
