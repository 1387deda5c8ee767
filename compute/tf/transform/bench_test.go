package transform_test

import (
	_ "embed"
	"io"
	"path/filepath"
	"slices"
	"testing"

	"github.com/stoker-ml/stoker/compute/data/example"
	"github.com/stoker-ml/stoker/compute/data/tfrecord"
	"github.com/stoker-ml/stoker/compute/tf/tftest"
	"github.com/stoker-ml/stoker/compute/tf/transform"
)

//go:embed testdata/bench.py
var benchScript string

const (
	benchRows   = 1000 // of one pass
	benchPasses = 200  // of one measurement against TensorFlow: some tenths of a CPU-second
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

// BenchmarkTensorFlowRun compares the CPU time of a million rows with that of TensorFlow on one
// thread, of the same graph and the same rows, which both have parsed before.
func BenchmarkTensorFlowRun(b *testing.B) {
	for _, name := range []string{"penguin", "taxi"} {
		b.Run(name, func(b *testing.B) {
			peer := tftest.BenchmarkPeer(b, 1)
			g, raw, records := openBench(b, name)
			folder, err := filepath.Abs(graphOf(name))
			if err != nil {
				b.Fatal(err)
			}
			in := map[string]any{"graph": folder, "examples": records, "passes": benchPasses}
			agree(b, peer, in, g, raw)
			transformPasses(b, g, raw)
			transformByPeer(b, peer, in)
			var ours, theirs float64
			for b.Loop() {
				before := tftest.CPUSeconds(b)
				transformPasses(b, g, raw)
				ours += tftest.CPUSeconds(b) - before
				theirs += transformByPeer(b, peer, in)
			}
			rows := float64(b.N * benchPasses * benchRows)
			b.ReportMetric(ours/rows*1e6, "cpu-s/Mrow")
			b.ReportMetric(theirs/rows*1e6, "tensorflow-cpu-s/Mrow")
		})
	}
}

func TestBothTransformTheRowsOfTheBenchmarkAlike(t *testing.T) {
	t.Parallel()
	tftest.Python(t) // not with -short
	err := tftest.WithPeer(t.Context(), 1, t.Output(), func(peer *tftest.Peer) error {
		for _, name := range []string{"penguin", "taxi"} {
			g, raw, records := openBench(t, name)
			folder, err := filepath.Abs(graphOf(name))
			if err != nil {
				return err
			}
			in := map[string]any{"graph": folder, "examples": records, "passes": 2}
			agree(t, peer, in, g, raw)
			var rows int
			if _, err := peer.Call(benchScript, "transform", in, &rows); err != nil || rows != 2*benchRows {
				t.Errorf("%s: TensorFlow transformed %d rows, %v; expected %d", name, rows, err, 2*benchRows)
			}
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
}

// agree has the peer load the graph, and compares the sums of the integer features.
func agree(tb testing.TB, peer *tftest.Peer, in map[string]any, g *transform.Graph, raw *example.Batch) {
	tb.Helper()
	var want map[string]int64
	if _, err := peer.Call(benchScript, "load", in, &want); err != nil {
		tb.Fatal(err)
	}
	made, err := g.Run(raw, nil)
	if err != nil {
		tb.Fatal(err)
	}
	for name, sum := range want {
		have := int64(0)
		for _, v := range made.Column(name).Ints {
			have += v
		}
		if have != sum {
			tb.Fatalf("feature %s adds up to %d, in TensorFlow to %d", name, have, sum)
		}
	}
}

func transformPasses(b *testing.B, g *transform.Graph, raw *example.Batch) {
	b.Helper()
	var into *example.Batch
	for range benchPasses {
		var err error
		if into, err = g.Run(raw, into); err != nil {
			b.Fatal(err)
		}
	}
}

// transformByPeer returns the CPU time of as many passes by TensorFlow.
func transformByPeer(b *testing.B, peer *tftest.Peer, in map[string]any) float64 {
	b.Helper()
	var rows int
	seconds, err := peer.Call(benchScript, "transform", in, &rows)
	if err != nil || rows != benchPasses*benchRows {
		b.Fatalf("TensorFlow transformed %d rows, %v; expected %d", rows, err, benchPasses*benchRows)
	}
	return seconds
}

// openBench opens a graph and reads its first rows, parsed and as they are in the file. The rows of
// penguin are repeated.
func openBench(b testing.TB, name string) (*transform.Graph, *example.Batch, [][]byte) {
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
