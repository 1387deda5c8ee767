package example_test

import (
	"compress/gzip"
	"errors"
	"io"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/stoker-ml/stoker/compute/data/example"
	"github.com/stoker-ml/stoker/compute/data/tfrecord"
)

// largeRecords returns a gzip file of records of so many bytes, most of which are in a feature x.
func largeRecords(t *testing.T, records, size int) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "large.gz")
	file, err := os.Create(path)
	if err != nil {
		t.Fatal(err)
	}
	z, err := gzip.NewWriterLevel(file, gzip.BestSpeed)
	if err != nil {
		t.Fatal(err)
	}
	w := tfrecord.NewWriter(z)
	var b example.Builder
	data := b.String("x", strings.Repeat("\x00", size)).Build()
	for range records {
		if err := w.Append(data); err != nil {
			t.Fatal(err)
		}
	}
	if err := errors.Join(w.Close(), z.Close(), file.Close()); err != nil {
		t.Fatal(err)
	}
	return path
}

// read reads until an error, and returns how many rows there were.
func read(t *testing.T, o example.Options) (rows int, err error) {
	t.Helper()
	o.Epochs = 1
	r, err := example.Open(o)
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	for {
		b, err := r.Next(t.Context())
		if err != nil {
			return rows, err
		}
		rows += b.Rows
	}
}

// A small file of large records is read record by record, or reading ends with an error that names
// the limit.
func TestLargeRecordsOfASmallFileAreBounded(t *testing.T) {
	t.Parallel()
	const size, records = 4 << 20, 40
	file := largeRecords(t, records, size)
	x := example.Spec{{Name: "x", Kind: example.Bytes}}
	for name, c := range map[string]struct {
		options example.Options
		rows    int
		want    string
	}{
		"a record":                   {example.Options{BatchSize: 1, MaxRecord: size}, 0, "record 0 of"},
		"a batch":                    {example.Options{BatchSize: records, MaxBytes: 3 * size}, 0, "bad record 2 in"},
		"the shuffle buffer":         {example.Options{BatchSize: 1, ShuffleBuffer: records, MaxBytes: 3 * size}, 0, "shuffle buffer have more than"},
		"all in small batches":       {example.Options{BatchSize: 1, MaxBytes: 3 * size}, records, ""},
		"all through a small buffer": {example.Options{BatchSize: 1, ShuffleBuffer: 2, MaxBytes: 3 * size}, records, ""},
	} {
		c.options.Patterns, c.options.Spec = []string{file}, x
		rows, err := read(t, c.options)
		if c.want == "" && (err != io.EOF || rows != records) {
			t.Errorf("%s: %d rows, error %v", name, rows, err)
		}
		if c.want != "" && (rows != c.rows || !errors.Is(err, example.ErrInput) || !strings.Contains(err.Error(), c.want)) {
			t.Errorf("%s: %d rows, error %v, want one that says %q", name, rows, err, c.want)
		}
	}
}

// Blocks of large records don't wait at the same time: the amount that is read ahead stays limited.
func TestLargeRecordsAreNotReadFarAhead(t *testing.T) {
	const size = 32 << 20
	r, err := example.Open(example.Options{
		Patterns: []string{largeRecords(t, 12, size)}, Spec: example.Spec{{Name: "y", Kind: example.Int64}}, BatchSize: 1, Epochs: 1,
	})
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	if _, err := r.Next(t.Context()); err != nil {
		t.Fatal(err)
	}
	held, still := uint64(0), 0
	for still < 10 { // until the goroutine that reads ahead waits
		time.Sleep(100 * time.Millisecond)
		runtime.GC()
		var m runtime.MemStats
		runtime.ReadMemStats(&m)
		if still++; m.HeapAlloc > held {
			held, still = m.HeapAlloc, 0
		}
	}
	if held > 6*size {
		t.Errorf("%d MiB are held while records of %d MiB are read", held>>20, size>>20)
	}
	rows := 1
	for ; ; rows++ {
		if _, err = r.Next(t.Context()); err != nil {
			break
		}
	}
	if err != io.EOF || rows != 12 {
		t.Errorf("%d rows, error %v", rows, err)
	}
}
