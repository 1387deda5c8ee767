package inspect_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stoker-ml/stoker/compute/example"
	"github.com/stoker-ml/stoker/compute/record"
	"github.com/stoker-ml/stoker/functions/inspect"
)

// Records that nothing can read and values of two types are said, wherever they are.
func TestFaultsOfRecordsAreSaid(t *testing.T) {
	t.Parallel()
	dir := filepath.Join(t.TempDir(), "Split-train")
	if err := os.MkdirAll(dir, 0o755); err != nil {
		t.Fatal(err)
	}
	for file, at := range map[string]int{"data-0": 150, "data-1": 3} { // behind the first records, too
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

func writeRecords(t *testing.T, path string, records [][]byte) {
	t.Helper()
	w, err := record.Create(path)
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
