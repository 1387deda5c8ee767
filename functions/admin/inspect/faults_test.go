package inspect_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stoker-ml/stoker/compute/data/example"
	"github.com/stoker-ml/stoker/compute/data/tfrecord"
	"github.com/stoker-ml/stoker/functions/admin/inspect"
)

// Unreadable records and values of two types are reported, wherever they are.
func TestFaultsOfRecordsAreSaid(t *testing.T) {
	t.Parallel()
	dir := filepath.Join(t.TempDir(), "Split-train")
	if err := os.MkdirAll(dir, 0o755); err != nil {
		t.Fatal(err)
	}
	// Also after the first records.
	for file, at := range map[string]int{"data-0": 150, "data-1": 3} {
		var records [][]byte
		for i := range 200 {
			b := new(example.Builder).Int64("age", int64(i)).Float("size", 1.5)
			switch i {
			case at:
				b = new(example.Builder).Float("age", 2.5).Float("size", 1.5)
			case at + 1:
				records = append(records, []byte("\xff\xff not a record"))
				continue
			}
			records = append(records, b.Build())
		}
		writeRecords(t, filepath.Join(dir, file), records)
	}
	r := look(t, filepath.Dir(dir), inspect.Options{})
	split := r.Examples.Splits[0]
	if split.Records != 400 || split.Malformed != 2 || split.FirstBad != "data-0, record 151" || split.Payload != "tf.Example" {
		t.Errorf("%+v", split)
	}
	if age := split.Features[0]; age.Type != "int64" || age.Other != "float" || age.OtherAt != "data-0, record 150" || age.Of != 100 {
		t.Errorf("%+v", age)
	}
	if size := split.Features[1]; size.Other != "" {
		t.Errorf("%+v", size)
	}
	text := printed(r)
	for _, want := range []string{
		"train: 2 records that can't be read: neither a tf.Example nor a tf.SequenceExample; the first is data-0, record 151",
		"train: feature age is int64, and float in data-0, record 150",
	} {
		if !strings.Contains(text, want) {
			t.Errorf("%q is not in\n%s", want, text)
		}
	}
}

// A damaged file hides neither its split nor the intact files.
func TestADamagedFileIsNamedWithItsSplit(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	for _, name := range []string{"Split-eval/data", "Split-train/data-0", "Split-train/data-1", "Split-train/data-2"} {
		path := filepath.Join(dir, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		writeRecords(t, path, [][]byte{new(example.Builder).Int64("age", 1).Build(), new(example.Builder).Int64("age", 2).Build()})
		data, err := os.ReadFile(path)
		switch name {
		case "Split-train/data-0":
			data = data[:len(data)-3]
		case "Split-train/data-2":
			data[12]++
		}
		if err == nil {
			err = os.WriteFile(path, data, 0o600)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	source, err := inspect.Local(dir)
	if err != nil {
		t.Fatal(err)
	}
	r, err := inspect.Inspect(t.Context(), source, inspect.Options{})
	if want := "inspect " + dir + ": split train: record 1 of data-0, at byte "; err == nil || !strings.HasPrefix(err.Error(), want) || !strings.HasSuffix(err.Error(), "truncated (and 1 damaged file more)") {
		t.Errorf("%v, want %s", err, want)
	}
	if r == nil || len(r.Examples.Splits) != 2 || r.Examples.Splits[0].Records != 2 || r.Examples.Splits[1].Records != 3 || r.Examples.Splits[1].Damaged != 2 {
		t.Fatalf("%+v", r)
	}
	if text := printed(r); !strings.Contains(text, "train: damaged: record 1 of data-0, at byte ") || strings.Contains(text, "eval: damaged") {
		t.Error(text)
	}
}

// A feature must have one type in all splits.
func TestATypeThatDiffersBetweenSplitsIsSaid(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	for split, b := range map[string]*example.Builder{
		"train": new(example.Builder).Float("size", 1).Int64("age", 1), "eval": new(example.Builder).Int64("size", 1).Int64("age", 1),
	} {
		path := filepath.Join(dir, "Split-"+split, "data")
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		writeRecords(t, path, [][]byte{b.Build()})
	}
	r := look(t, dir, inspect.Options{})
	text := printed(r)
	if want := "feature size is int64 in eval, and float in train: training rejects one of them"; !strings.Contains(text, want) || strings.Contains(text, "feature age is") {
		t.Errorf("%q is not in\n%s", want, text)
	}
	if len(r.Examples.Mixed) != 1 || r.Examples.Mixed[0].Types["eval"] != "int64" {
		t.Errorf("%+v", r.Examples.Mixed)
	}
}

func writeRecords(t *testing.T, path string, records [][]byte) {
	t.Helper()
	w, err := tfrecord.Create(path)
	if err != nil {
		t.Fatal(err)
	}
	for _, r := range records {
		if err := w.Append(r); err != nil {
			t.Fatal(err)
		}
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
}
