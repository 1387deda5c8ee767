package transform_test

import (
	_ "embed"
	"io"
	"path/filepath"
	"slices"
	"syscall"
	"testing"
	"time"

	"github.com/stoker-ml/stoker/compute/data/example"
	"github.com/stoker-ml/stoker/compute/data/tfrecord"
	"github.com/stoker-ml/stoker/compute/tf/tftest"
	"github.com/stoker-ml/stoker/compute/tf/transform"
)

//go:embed testdata/bench.py
var benchScript string

const (
	benchRows    = 1000
	benchWindows = 5
)

// BenchmarkRun transforms parsed batches of 1000 rows on one core.
func BenchmarkRun(b *testing.B) {
	for _, name := range []string{"penguin", "taxi"} {
		b.Run(name, func(b *testing.B) {
			g, raw, _ := openBench(b, name)
			var into *example.Batch
			var err error
			b.ReportAllocs()
			for b.Loop() {
				if into, err = g.Run(raw, into); err != nil {
					b.Fatal(err)
				}
			}
			b.ReportMetric(float64(b.N)*benchRows/b.Elapsed().Seconds(), "rows/s")
		})
	}
}

// BenchmarkAgainstTensorFlow compares rows per CPU-second, of the same graph on the same rows, parsed beforehand on both
// sides. Each has the best of some windows of a second, so that one round is enough.
func BenchmarkAgainstTensorFlow(b *testing.B) {
	for _, name := range []string{"penguin", "taxi"} {
		b.Run(name, func(b *testing.B) {
			g, raw, records := openBench(b, name)
			folder, err := filepath.Abs(graphOf(name))
			if err != nil {
				b.Fatal(err)
			}
			var peer []float64
			tftest.Run(b, benchScript, map[string]any{
				"graph": folder, "examples": records, "windows": benchWindows, "seconds": 1,
			}, &peer)
			var ours []float64
			for range benchWindows {
				ours = append(ours, rowsPerCPUSecond(b, g, raw))
			}
			b.ReportMetric(slices.Max(ours), "rows/cpu-s")
			b.ReportMetric(slices.Max(peer), "tensorflow-rows/cpu-s")
			b.ReportMetric(slices.Max(ours)/slices.Max(peer), "times")
			b.ReportMetric(0, "ns/op")
		})
	}
}

func rowsPerCPUSecond(b *testing.B, g *transform.Graph, raw *example.Batch) float64 {
	b.Helper()
	start, end, rows := cpuSeconds(b), time.Now().Add(time.Second), 0
	var into *example.Batch
	for time.Now().Before(end) {
		var err error
		if into, err = g.Run(raw, into); err != nil {
			b.Fatal(err)
		}
		rows += raw.Rows
	}
	return float64(rows) / (cpuSeconds(b) - start)
}

// cpuSeconds is what this process has used, the collector of garbage included.
func cpuSeconds(b *testing.B) float64 {
	b.Helper()
	var usage syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &usage); err != nil {
		b.Fatal(err)
	}
	return time.Duration(usage.Utime.Nano() + usage.Stime.Nano()).Seconds()
}

// openBench opens a graph and reads its first rows, parsed and as they stand in the file: penguin's are repeated.
func openBench(b *testing.B, name string) (*transform.Graph, *example.Batch, [][]byte) {
	b.Helper()
	g, err := transform.Open(graphOf(name))
	if err != nil {
		b.Fatal(err)
	}
	files, err := filepath.Glob(filepath.Join("..", "..", "data", "example", "testdata", name, "examples", "Split-eval", "*"))
	if err != nil || len(files) != 1 {
		b.Fatalf("files %v: %v", files, err)
	}
	r, err := tfrecord.Open(files[0])
	if err != nil {
		b.Fatal(err)
	}
	defer r.Close()
	var records [][]byte
	for {
		data, err := r.Next()
		if err == io.EOF {
			break
		}
		if err != nil {
			b.Fatal(err)
		}
		records = append(records, slices.Clone(data))
	}
	for len(records) < benchRows {
		records = append(records, records...)
	}
	records = records[:benchRows]
	raw, err := example.Parse(g.Raw(), records...)
	if err != nil {
		b.Fatal(err)
	}
	return g, raw, records
}
