package example_test

import (
	"fmt"
	"math/rand/v2"
	"path/filepath"
	"testing"

	"github.com/stoker-ml/stoker/compute/data/example"
	"github.com/stoker-ml/stoker/compute/data/tfrecord"
)

const benchRows = 20_000

// benchSpec returns 21 features, as in tabular data: 8 floats, 6 integers, 5 strings, a vector of 4
// floats and a label.
func benchSpec() example.Spec {
	var spec example.Spec
	add := func(kind example.Kind, n int, name string, shape ...int) {
		for i := range n {
			spec = append(spec, example.Feature{Name: fmt.Sprintf("%s_%d", name, i), Kind: kind, Shape: shape})
		}
	}
	add(example.Int64, 6, "category_id", 1)
	add(example.Int64, 1, "label", 1)
	add(example.Float, 8, "measurement", 1)
	add(example.Bytes, 5, "text_token", 1)
	add(example.Float, 1, "vector", 4)
	return spec
}

// writeBench writes rows for the spec, about 630 bytes each. With mixed, every row has its features
// in another order, as Python writes them; else all have one order, as with Go and Java.
func writeBench(tb testing.TB, name string, mixed bool) string {
	tb.Helper()
	path := filepath.Join(tb.TempDir(), name)
	w, err := tfrecord.Create(path)
	if err != nil {
		tb.Fatal(err)
	}
	random := rand.New(rand.NewPCG(1, 2))
	for range benchRows {
		if err := w.Append(benchRow(random, mixed)); err != nil {
			tb.Fatal(err)
		}
	}
	if err := w.Close(); err != nil {
		tb.Fatal(err)
	}
	return path
}

func benchRow(random *rand.Rand, mixed bool) []byte {
	spec := benchSpec()
	if mixed {
		random.Shuffle(len(spec), func(i, j int) { spec[i], spec[j] = spec[j], spec[i] })
	}
	var b example.Builder
	for _, f := range spec {
		switch f.Kind {
		case example.Int64:
			b.Int64(f.Name, random.Int64N(100_000))
		case example.Bytes:
			b.String(f.Name, fmt.Sprintf("token-%d", random.IntN(1000)))
		case example.Float:
			values := make([]float32, f.Size())
			for i := range values {
				values[i] = float32(random.NormFloat64())
			}
			b.Float(f.Name, values...)
		}
	}
	return b.Build()
}

// BenchmarkParse reads batches of 256 rows from a file in the page cache, checksums and all.
func BenchmarkParse(b *testing.B) {
	for _, file := range []string{"plain", "gzip.gz"} {
		for _, order := range []string{"one-order", "mixed"} {
			b.Run(file+"/"+order, func(b *testing.B) {
				benchmarkReader(b, example.Options{Patterns: []string{writeBench(b, file, order == "mixed")}, Spec: benchSpec(), BatchSize: 256})
			})
		}
	}
}

func BenchmarkShuffle(b *testing.B) {
	benchmarkReader(b, example.Options{Patterns: []string{writeBench(b, "plain", false)}, Spec: benchSpec(), BatchSize: 256, ShuffleBuffer: 10_000})
}

func benchmarkReader(b *testing.B, o example.Options) {
	r, err := example.Open(o)
	if err != nil {
		b.Fatal(err)
	}
	defer r.Close()
	rows := 0
	b.ReportAllocs()
	for b.Loop() {
		batch, err := r.Next(b.Context())
		if err != nil {
			b.Fatal(err)
		}
		rows += batch.Rows
	}
	b.ReportMetric(float64(rows)/b.Elapsed().Seconds(), "rows/s")
}

// BenchmarkDecode measures only the parser, on one core.
func BenchmarkDecode(b *testing.B) {
	for _, mixed := range []bool{false, true} {
		b.Run(map[bool]string{false: "one-order", true: "mixed"}[mixed], func(b *testing.B) {
			d, err := example.NewDecoder(benchSpec())
			if err != nil {
				b.Fatal(err)
			}
			random := rand.New(rand.NewPCG(1, 2))
			var records [256][]byte
			for i := range records {
				records[i] = benchRow(random, mixed)
			}
			batch := example.NewBatch(benchSpec())
			b.ReportAllocs()
			for b.Loop() {
				batch.Reset()
				for _, r := range records {
					if err := d.Append(batch, r); err != nil {
						b.Fatal(err)
					}
				}
			}
			b.ReportMetric(float64(b.N)*256/b.Elapsed().Seconds(), "rows/s")
		})
	}
}

func TestParsingAllocatesNothingPerRow(t *testing.T) {
	d, err := example.NewDecoder(benchSpec())
	if err != nil {
		t.Fatal(err)
	}
	row, batch := benchRow(rand.New(rand.NewPCG(1, 2)), true), example.NewBatch(benchSpec())
	perRow := testing.AllocsPerRun(1000, func() {
		batch.Reset()
		if err := d.Append(batch, row); err != nil {
			t.Fatal(err)
		}
	})
	if perRow != 0 {
		t.Errorf("%v allocations a row", perRow)
	}
}
