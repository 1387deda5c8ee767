package examplegen_test

import (
	"bytes"
	"encoding/binary"
	"errors"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/parquet-go/parquet-go"
	"github.com/parquet-go/parquet-go/deprecated"

	"github.com/stoker-ml/stoker/compute/data/example"
	"github.com/stoker-ml/stoker/compute/data/examplegen"
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
		pear := new(example.Builder).Int64("count", -1).String("name", "pear").Int64("ripe", 0).Unset("size").Build()
		if got := records(t, filepath.Join(to, "Split-*", "*")); !cmp.Equal(got, []string{string(pear), string(apple)}) {
			t.Errorf("got %q", got)
		}
	}
}

// Numbers, dates and times of all kinds, and lists of them.
func TestParquetTypesBecomeFeatures(t *testing.T) {
	t.Parallel()
	type row struct {
		Small   uint8            `parquet:"a_small"`
		Large   uint64           `parquet:"b_large"`
		Price   int64            `parquet:"c_price,decimal(2:18)"`
		Serial  int64            `parquet:"d_serial,decimal(0:18)"`
		Wide    [16]byte         `parquet:"e_wide,decimal(3:38)"`
		When    time.Time        `parquet:"f_when"`
		Millis  int64            `parquet:"g_millis,timestamp(millisecond)"`
		Micros  int64            `parquet:"h_micros,timestamp(microsecond)"`
		Day     int32            `parquet:"i_day,date"`
		Clock   int32            `parquet:"j_clock,time(millisecond)"`
		Numbers []int32          `parquet:"k_numbers"`
		Listed  []string         `parquet:"l_listed,list"`
		Weights []float64        `parquet:"m_weights,list"`
		Old     deprecated.Int96 `parquet:"n_old"`
		Maybe   *time.Time       `parquet:"o_maybe,optional"`
	}
	var minus [16]byte // -1500
	for i := range minus {
		minus[i] = 0xff
	}
	minus[14], minus[15] = 0xfa, 0x24
	rows := []row{
		{200, 1 << 62, 1999, 1 << 55, [16]byte{15: 250}, time.Unix(1, 2_999), 5, 6, 19000, 1001, []int32{1, -2}, []string{"x", ""}, []float64{0.5}, deprecated.Int96{1_500, 0, 2_440_589}, nil},
		{0, 0, -5, 0, minus, time.Unix(-1, 999_999_999), -1, -1, -1, 0, nil, nil, nil, deprecated.Int96{0, 0, 2_440_588}, new(time.Unix(2, 0))},
	}
	want := []*example.Builder{
		new(example.Builder).Int64("a_small", 200).Int64("b_large", 1<<62).Float("c_price", 19.99).Int64("d_serial", 1<<55).Float("e_wide", 0.25).
			Int64("f_when", 1_000_002).Int64("g_millis", 5000).Int64("h_micros", 6).Int64("i_day", 19000).Int64("j_clock", 1_001_000).
			Int64("k_numbers", 1, -2).String("l_listed", "x", "").Float("m_weights", 0.5).Int64("n_old", 86_400_000_001).Unset("o_maybe"),
		new(example.Builder).Int64("a_small", 0).Int64("b_large", 0).Float("c_price", -0.05).Int64("d_serial", 0).Float("e_wide", -1.5).
			Int64("f_when", -1).Int64("g_millis", -1000).Int64("h_micros", -1).Int64("i_day", -1).Int64("j_clock", 0).
			Unset("k_numbers").Unset("l_listed").Unset("m_weights").Int64("n_old", 0).Int64("o_maybe", 2_000_000),
	}
	to := t.TempDir()
	if _, err := examplegen.Convert(t.Context(), parquetFile(t, rows), to, examplegen.Options{Splits: []examplegen.Split{{Name: "all", Buckets: 1}}}); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff([]string{string(want[0].Build()), string(want[1].Build())}, records(t, filepath.Join(to, "Split-all", "*"))); diff != "" {
		t.Error(diff)
	}
}

func TestColumnsThatHaveNoTypeInExamplesAreNamed(t *testing.T) {
	t.Parallel()
	type pair struct{ A int64 }
	for want, path := range map[string]string{
		`column "lists": is nested (a list of structs, lists or maps): write one column for each value`: parquetFile(t, []struct {
			Lists [][]int64 `parquet:"lists,list"`
		}{{[][]int64{{1}}}}),
		`column "pairs": is nested`: parquetFile(t, []struct {
			Pairs []pair `parquet:"pairs,list"`
		}{{[]pair{{1}}}}),
		`column "inner": is nested (struct): write one column for each value`: parquetFile(t, []struct {
			Inner pair `parquet:"inner"`
		}{{}}),
		`column "map": is nested (MAP)`: parquetFile(t, []struct {
			Map map[string]int64 `parquet:"map"`
		}{{map[string]int64{"a": 1}}}),
		`column "id": has type UUID: write it as`: parquetFile(t, []struct {
			ID [16]byte `parquet:"id,uuid"`
		}{{}}),
		`row 2, column "n": 9223372036854775808 is more than an int64 holds`: parquetFile(t, []struct {
			N uint64 `parquet:"n"`
		}{{1}, {1 << 63}}),
		`row 1, column "when": 9223372036854775807 times 1ms are more microseconds`: parquetFile(t, []struct {
			When int64 `parquet:"when,timestamp(millisecond)"`
		}{{math.MaxInt64}}),
		`row 1, column "serial": a decimal beyond 64 bits`: parquetFile(t, []struct {
			Serial [16]byte `parquet:"serial,decimal(0:38)"`
		}{{[16]byte{1}}}),
		`row 1, column "old": INT96 with Julian day 4294967295`: parquetFile(t, []struct {
			Old deprecated.Int96 `parquet:"old"`
		}{{deprecated.Int96{0, 0, math.MaxUint32}}}),
		`row 1, column "some": a null in a list, as element 1`: parquetFile(t, []struct {
			Some []*int64 `parquet:"some,list"`
		}{{[]*int64{new(int64), nil}}}),
		`row 1: more than 16 MiB in a row`: parquetFile(t, []struct {
			Text []string `parquet:"text,list"`
		}{{[]string{strings.Repeat("x", 9<<20), strings.Repeat("y", 9<<20)}}}),
		"not a readable Parquet file": write(t, "a.parquet", "PAR1 and nothing else"),
	} {
		_, err := examplegen.Convert(t.Context(), path, t.TempDir(), examplegen.Options{})
		if !errors.Is(err, example.ErrInput) || !strings.Contains(err.Error(), want) {
			t.Errorf("got %v, want %s", err, want)
		}
	}
}

// One value that a thousand rows repeat costs a few bytes. Bytes of Examples are counted, not those
// of the file.
func TestBoundsTheBytesOfExamples(t *testing.T) {
	t.Parallel()
	type row struct {
		Text string `parquet:"text,dict"`
	}
	rows := make([]row, 1000)
	for i := range rows {
		rows[i].Text = strings.Repeat("x", 4<<10)
	}
	path := parquetFile(t, rows, parquet.Compression(&parquet.Zstd))
	if info, err := os.Stat(path); err != nil || info.Size() > 64<<10 {
		t.Fatalf("expected a small file, got %v, %v", info, err)
	}
	_, err := examplegen.Convert(t.Context(), path, t.TempDir(), examplegen.Options{MaxBytes: 1 << 20})
	if !errors.Is(err, example.ErrInput) || !strings.Contains(err.Error(), "more than 1048576 bytes of Examples") || !strings.Contains(err.Error(), "row 255: ") {
		t.Errorf("got %v", err)
	}
	if _, err := examplegen.Convert(t.Context(), path, t.TempDir(), examplegen.Options{MaxBytes: 8 << 20, Splits: []examplegen.Split{{Name: "all", Buckets: 1}}}); err != nil {
		t.Error(err)
	}
}

// footer returns a Parquet file that has only a footer.
func footer(t *testing.T, compact ...byte) string {
	t.Helper()
	data := append([]byte("PAR1"), compact...)
	data = binary.LittleEndian.AppendUint32(data, uint32(len(compact)))
	return write(t, "data.parquet", string(append(data, "PAR1"...)))
}

// False claims of a hostile file need no memory: the schema of a million nested columns has 6 MB
// and would take terabytes, and a list claims to have 2^31 elements.
func TestClaimsOfParquetFilesAreBounded(t *testing.T) {
	t.Parallel()
	nested := bytes.Repeat([]byte{0x48, 1, 'a', 0x15, 2, 0}, 1<<20) // name a, 1 child
	many := []byte{0xff, 0xff, 0xff, 0xff, 0x07}
	for want, path := range map[string]string{
		"columns are nested deeper than 20 levels": footer(t, slices.Concat([]byte{0x15, 2, 0x19, 0xfc, 0x80, 0x80, 0x40}, nested, []byte{0x16, 0, 0x19, 0x0c, 0})...),
		"its description claims more than it has":  footer(t, slices.Concat([]byte{0x15, 2, 0x19, 0xfc}, many, []byte{0x48, 1, 'a', 0})...),
	} {
		_, err := examplegen.Convert(t.Context(), path, t.TempDir(), examplegen.Options{})
		if !errors.Is(err, example.ErrInput) || !strings.Contains(err.Error(), want) {
			t.Errorf("got %v, want %s", err, want)
		}
	}
}

// A damaged file gives an error of the file, never a panic.
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

// Whatever bytes a file has, it is refused as bad input or becomes Examples. Run it with a limit of
// address space: see Unbounded.
func FuzzParquet(f *testing.F) {
	type listed struct {
		Numbers []int64          `parquet:"numbers,list"`
		Words   []*string        `parquet:"words,list"`
		Price   int32            `parquet:"price,decimal(2:9)"`
		Old     deprecated.Int96 `parquet:"old"`
		When    time.Time        `parquet:"when,delta"`
		Kind    string           `parquet:"kind,dict,zstd"`
	}
	fruits := []fruit{{"apple", new(1.5), 3, true, "train"}, {"pear", nil, -1, false, "eval"}}
	lists := []listed{{Numbers: []int64{1, 2}, Words: []*string{new("a")}, Kind: "x"}, {Price: -1, Kind: "x"}}
	for _, path := range []string{
		parquetFile(f, fruits), parquetFile(f, fruits, parquet.Compression(&parquet.Snappy)), parquetFile(f, fruits, parquet.DataPageVersion(1)),
		parquetFile(f, lists), parquetFile(f, lists, parquet.Compression(&parquet.Gzip), parquet.MaxRowsPerRowGroup(1)),
		parquetFile(f, []struct{ Inner struct{ A []int64 } }{{}}),
	} {
		data, err := os.ReadFile(path)
		if err != nil {
			f.Fatal(err)
		}
		f.Add(data)
	}
	dir := f.TempDir()
	f.Fuzz(func(t *testing.T, data []byte) {
		path := filepath.Join(dir, "data.parquet")
		if err := os.WriteFile(path, data, 0o644); err != nil {
			t.Fatal(err)
		}
		if _, err := examplegen.Convert(t.Context(), path, filepath.Join(dir, "to"), examplegen.Options{MaxBytes: 1 << 20}); err != nil && !errors.Is(err, example.ErrInput) {
			t.Error(err)
		}
	})
}
