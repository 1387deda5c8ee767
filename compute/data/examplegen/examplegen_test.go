package examplegen_test

import (
	"encoding/csv"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/stoker-ml/stoker/compute/data/example"
	"github.com/stoker-ml/stoker/compute/data/examplegen"
	"github.com/stoker-ml/stoker/compute/data/tfrecord"
	"github.com/stoker-ml/stoker/compute/tf/tftest"
)

func write(t *testing.T, name, text string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), name)
	if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
	return path
}

func records(t *testing.T, pattern string) (all []string) {
	t.Helper()
	files, err := example.Files(pattern)
	if err != nil {
		t.Fatal(err)
	}
	for _, file := range files {
		r, err := tfrecord.Open(file)
		if err != nil {
			t.Fatal(err)
		}
		defer r.Close()
		for {
			data, err := r.Next()
			if err == io.EOF {
				break
			}
			if err != nil {
				t.Fatal(err)
			}
			all = append(all, string(data))
		}
	}
	return all
}

// The Examples of TFX's CsvExampleGen, written back as CSV, become the same records in the same
// splits, byte for byte.
func TestMakesTheRecordsAndSplitsOfCsvExampleGen(t *testing.T) {
	t.Parallel()
	for data, splits := range map[string][]string{"penguin": {"train", "eval"}, "taxi": {"eval"}} {
		dir := filepath.Join("../example/testdata", data)
		var text strings.Builder
		w := csv.NewWriter(&text)
		want := map[string][]string{}
		var spec example.Spec
		for _, split := range splits {
			pattern := filepath.Join(dir, "examples", "Split-"+split, "*")
			want[split] = sorted(canonical(t, dir, records(t, pattern)))
			schema, err := example.ReadSchema(filepath.Join(dir, "schema/schema.pbtxt"))
			if err == nil {
				spec, err = schema.Spec()
			}
			if err != nil {
				t.Fatal(err)
			}
			if split == splits[0] {
				_ = w.Write(spec.Names())
			}
			for _, r := range records(t, pattern) {
				_ = w.Write(cells(t, spec, r))
			}
		}
		w.Flush()
		to := t.TempDir()
		report, err := examplegen.Convert(t.Context(), write(t, "data.csv", text.String()), to, examplegen.Options{})
		if data == "taxi" { // of which there is one split only
			if want := "no row falls into split train"; err == nil || !strings.Contains(err.Error(), want) {
				t.Errorf("%s: got %v, want %s", data, err, want)
			}
		} else if err != nil {
			t.Fatal(err)
		}
		for _, split := range splits {
			got := sorted(records(t, filepath.Join(to, "Split-"+split, "*")))
			if !slices.Equal(got, want[split]) || report.Splits[split] != int64(len(got)) {
				t.Errorf("%s: %d records in split %s, want %d; equal: %v", data, len(got), split, len(want[split]), slices.Equal(got, want[split]))
			}
		}
	}
}

func sorted(records []string) []string { slices.Sort(records); return records }

// canonical sorts features by name, as they were when TFX determined the split.
func canonical(t *testing.T, dir string, records []string) []string {
	t.Helper()
	schema, err := example.ReadSchema(filepath.Join(dir, "schema/schema.pbtxt"))
	if err != nil {
		t.Fatal(err)
	}
	spec, err := schema.Spec()
	if err != nil {
		t.Fatal(err)
	}
	for i, r := range records {
		b, err := example.Parse(spec, []byte(r))
		if err != nil {
			t.Fatal(err)
		}
		var out example.Builder
		for _, c := range b.Columns {
			from, to := c.Row(0)
			switch c.Feature.Kind {
			case example.Float:
				out.Float(c.Feature.Name, c.Floats[from:to]...)
			case example.Int64:
				out.Int64(c.Feature.Name, c.Ints[from:to]...)
			default:
				var words [][]byte
				for n := from; n < to; n++ {
					words = append(words, c.Bytes(n))
				}
				out.Bytes(c.Feature.Name, words...)
			}
		}
		records[i] = string(out.Build())
	}
	return records
}

// cells returns a record's values as text; a float has a point, as in the file that TFX read.
func cells(t *testing.T, spec example.Spec, record string) (row []string) {
	t.Helper()
	b, err := example.Parse(spec, []byte(record))
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range b.Columns {
		from, to := c.Row(0)
		cell := ""
		if to > from {
			switch c.Feature.Kind {
			case example.Float:
				cell = strconv.FormatFloat(float64(c.Floats[from]), 'e', -1, 32)
			case example.Int64:
				cell = fmt.Sprint(c.Ints[from])
			default:
				cell = string(c.Bytes(from))
			}
		}
		row = append(row, cell)
	}
	return row
}

const kindsScript = `
from tfx_bsl.coders import csv_decoder

def check(cells):
    return [int(csv_decoder._InferValueType(c)) for c in cells]
`

// Types are those that tfx_bsl infers, cell by cell.
func TestCellsHaveTheTypesThatTFXInfers(t *testing.T) {
	t.Parallel()
	all := []string{
		"", "0", "-7", "+3", " 12 ", "\t5\n", "1_000", "1__0", "_1", "1_", "0x10", "007", "9223372036854775807", "9223372036854775808", "-9223372036854775808",
		"-9223372036854775809", "99999999999999999999", "1.5", ".5", "5.", "1e3", "1E-3", "1e999", "1_0.5_0", "1._5", "nan", "NaN", "-nan", "inf", "-Infinity", "infin", "INF",
		"0x1p3", "1e", "e1", "--1", "+-1", "- 1", "1 2", "true", " ", "1,5", "ä", "1.5f", "+", ".", "1e+", "0b1", "1_0", "0_0", "1e1_0",
	}
	var want []int
	tftest.Run(t, kindsScript, all, &want)
	for i, cell := range all {
		var text strings.Builder
		w := csv.NewWriter(&text)
		_ = w.Write([]string{"x", "y"})
		for n := range 40 {
			_ = w.Write([]string{cell, fmt.Sprint(n)})
		}
		w.Flush()
		report, err := examplegen.Convert(t.Context(), write(t, "a.csv", text.String()), t.TempDir(), examplegen.Options{})
		if err != nil {
			t.Errorf("%q: %v", cell, err)
			continue
		}
		if got := map[string]int{"": -1, "int64": 0, "float": 1, "string": 2}[report.Columns["x"]]; got != want[i] {
			t.Errorf("%q is %q, TFX says %d", cell, report.Columns["x"], want[i])
		}
	}
}

func TestATypeIsThatOfAllCells(t *testing.T) {
	t.Parallel()
	text := "a,b,c,d,split\n1,1,1,,train\n2,1.5,x,,eval\n,,,,train\n"
	to := t.TempDir()
	r, err := examplegen.Convert(t.Context(), write(t, "a.csv", "\ufeff"+text), to, examplegen.Options{Column: "split"})
	if err != nil {
		t.Fatal(err)
	}
	want := examplegen.Report{Splits: map[string]int64{"train": 2, "eval": 1}, Columns: map[string]string{"a": "int64", "b": "float", "c": "string", "d": ""}}
	if diff := cmp.Diff(want, r); diff != "" {
		t.Error(diff)
	}
	got := records(t, filepath.Join(to, "Split-train", "*"))
	full := new(example.Builder).Int64("a", 1).Float("b", 1).String("c", "1").Unset("d").Build()
	empty := new(example.Builder).Int64("a").Float("b").Bytes("c").Unset("d").Build()
	if diff := cmp.Diff([]string{string(full), string(empty)}, got); diff != "" {
		t.Error(diff)
	}
}

func TestSplitsByShares(t *testing.T) {
	t.Parallel()
	splits, err := examplegen.ParseSplits("train:8,eval:1,test:1")
	if err != nil {
		t.Fatal(err)
	}
	var text strings.Builder
	text.WriteString("x\n")
	for n := range 1000 {
		fmt.Fprintln(&text, n)
	}
	path := write(t, "a.csv", text.String())
	r, err := examplegen.Convert(t.Context(), path, t.TempDir(), examplegen.Options{Splits: splits})
	if err != nil || r.Splits["train"] < 750 || r.Splits["train"] > 850 || r.Splits["train"]+r.Splits["eval"]+r.Splits["test"] != 1000 {
		t.Errorf("got %+v, %v", r, err)
	}
	again, err := examplegen.Convert(t.Context(), path, t.TempDir(), examplegen.Options{Splits: splits})
	if diff := cmp.Diff(r, again); diff != "" || err != nil {
		t.Error(diff, err)
	}
	for text, want := range map[string]string{
		"train": "expected name:buckets like train:2,eval:1", "train:x": "expected name:buckets", "train:0": "0 buckets, expected 1 to 1000000",
		"train:1,train:2": "split train is named twice", "../x:1": "expected a name of letters",
	} {
		if _, err := examplegen.ParseSplits(text); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: got %v, want %s", text, err, want)
		}
	}
}

// A single typing error makes text of a column of numbers: the report says so. A column of words
// among which some look like numbers is as it was meant.
func TestAColumnThatIsTextBecauseOfFewCellsIsReported(t *testing.T) {
	t.Parallel()
	text := "mass,house,grade,size\n"
	for n := range 40 {
		mass, house := fmt.Sprint(n), fmt.Sprintf("%da", n)
		if n == 7 || n == 9 {
			mass = "n/a"
		}
		if n%3 == 0 {
			house = fmt.Sprint(n)
		}
		grade := fmt.Sprint(n)
		if n%4 == 0 { // a quarter of words is meant
			grade = "none"
		}
		text += fmt.Sprintf("%s,%s,%s,%d\n", mass, house, grade, n)
	}
	path := write(t, "a.csv", text)
	r, err := examplegen.Convert(t.Context(), path, t.TempDir(), examplegen.Options{})
	if err != nil {
		t.Fatal(err)
	}
	want := []string{path + `: column "mass" is text because of 2 of its 40 values, the first of them "n/a" in line 9: leave such cells empty if they are missing values`}
	if diff := cmp.Diff(want, r.Notes); diff != "" {
		t.Error(diff)
	}
}

// Each record of each split is found again in the table.
func TestRecordsAreLocated(t *testing.T) {
	t.Parallel()
	var text strings.Builder
	text.WriteString("x,y\n")
	for n := range 50 {
		fmt.Fprintf(&text, "%d,\"a\nb\"\n", n) // two lines a row
	}
	path, to := write(t, "a.csv", text.String()), t.TempDir()
	if _, err := examplegen.Convert(t.Context(), path, to, examplegen.Options{}); err != nil {
		t.Fatal(err)
	}
	for _, split := range []string{"train", "eval"} {
		all := records(t, filepath.Join(to, "Split-"+split, "*"))
		for n, record := range all {
			at, err := examplegen.Locate(t.Context(), path, examplegen.Options{}, split, int64(n))
			if err != nil {
				t.Fatal(err)
			}
			x := int64((at.Line - 2) / 2)
			if want := string(new(example.Builder).Int64("x", x).String("y", "a\nb").Build()); record != want || at.Error() != fmt.Sprintf("%s, line %d", path, 2+2*x) {
				t.Errorf("record %d of %s: got %s", n, split, at)
			}
		}
		if at, err := examplegen.Locate(t.Context(), path, examplegen.Options{}, split, int64(len(all))); err == nil {
			t.Errorf("beyond the last record of %s: got %s", split, at)
		}
	}
}

func TestSaysWhereAFileIsWrong(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		text, column, want string
	}{
		{"", "", "expected a header row with the names of the columns"},
		{"a,a\n1,2\n", "", `line 1: two columns are named "a"`},
		{"a,\n1,2\n", "", "line 1: column 2 has no name"},
		{"a,b\n1,2\n1\n", "", "line 3: expected 2 cells as in the header, got another number"},
		{"a;b\n1;2\n", "", `line 1: one column, "a;b"; the header has semicolons: cells are separated by commas, write the file with those`},
		{"a\tb\n1\t2\n", "", `line 1: one column, "a\tb"; the header has tabs: `},
		{"a|b|c\n1|2|3\n", "", "the header has bars: "},
		{"a;b\n1,5;2\n", "", "line 2: expected 1 cells as in the header, got another number; the header has semicolons: "},
		{"a,b\n1,\"2\"x\n", "", "line 2: byte 5 of the line: extraneous"},
		{"a\n\"" + strings.Repeat("x\n", 9<<20), "", "after line 1: a row has more than 16 MiB: is a quote not closed?"},
		{"a,b\n1,2\n", "c", `there is no column "c" to split by`},
		{"a,b\n1,\n", "b", `line 2, column "b": no split is named`},
		{"a,b\n1,x/y\n", "b", `line 2: split "x/y": expected a name of letters, digits, - and _`},
		{"b\ntrain\n", "b", "there is no column that becomes a feature"},
		{"a\n1\n", "", "no row falls into split"},
	} {
		path := write(t, "data.csv", c.text)
		_, err := examplegen.Convert(t.Context(), path, t.TempDir(), examplegen.Options{Column: c.column})
		if !errors.Is(err, example.ErrInput) || !strings.HasPrefix(err.Error(), path) || !strings.Contains(err.Error(), c.want) {
			t.Errorf("got %v, want %s", err, c.want)
		}
	}
}

// Whatever a file contains, it is refused as bad input or becomes Examples with all of its rows.
func FuzzCSV(f *testing.F) {
	for _, text := range []string{"a,b\n1,x\n2,\n", "a\n\"\n\"\n", "\ufeffa\n1_0\n", "a,b\n1\n", "a\n1e999\nnan\n"} {
		f.Add(text)
	}
	dir := f.TempDir()
	f.Fuzz(func(t *testing.T, text string) {
		path := filepath.Join(dir, "data.csv")
		if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
		if _, err := examplegen.Convert(t.Context(), path, filepath.Join(dir, "to"), examplegen.Options{}); err != nil && !errors.Is(err, example.ErrInput) {
			t.Error(err)
		}
	})
}

// A name may contain a semicolon if the cells contain none.
func TestASemicolonInANameIsNoSeparator(t *testing.T) {
	t.Parallel()
	r, err := examplegen.Convert(t.Context(), write(t, "a.csv", "a;b\n1\n2;3\n4\n"), t.TempDir(), examplegen.Options{})
	if err != nil || r.Columns["a;b"] != "string" {
		t.Errorf("%+v, %v", r, err)
	}
}
