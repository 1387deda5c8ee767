package example_test

import (
	_ "embed"
	"errors"
	"fmt"
	"io"
	"math"
	"math/rand/v2"
	"path/filepath"
	"testing"
	"time"

	"github.com/stoker-ml/stoker/compute/data/example"
	"github.com/stoker-ml/stoker/compute/data/tfrecord"
	"github.com/stoker-ml/stoker/compute/tf/tftest"
)

//go:embed testdata/bench.py
var benchScript string

// peerRows is how many rows are parsed: a pass takes some tenths of a CPU-second.
const peerRows = 100_000

// peerSpecs returns the kinds of rows that are parsed: 21 plain features, as in tabular data (some
// 630 bytes a row); sequences, of 4 plain features and 3 lists of up to 15 steps; and 20 features
// as before tf.Transform: one value or a vector a row, and two lists.
func peerSpecs() map[string]example.Spec {
	var mixed example.Spec
	for _, f := range []struct {
		name  string
		kind  example.Kind
		n     int
		shape []int
	}{
		{"category_id", example.Int64, 5, []int{1}}, {"label", example.Int64, 1, []int{1}}, {"measurement", example.Float, 7, []int{1}},
		{"tags", example.Bytes, 1, nil}, {"text_token", example.Bytes, 4, []int{1}}, {"vector", example.Float, 1, []int{4}},
		{"visited", example.Int64, 1, nil},
	} {
		for i := range f.n {
			mixed = append(mixed, example.Feature{Name: fmt.Sprintf("%s_%d", f.name, i), Kind: f.kind, Shape: f.shape})
		}
	}
	return map[string]example.Spec{"examples": benchSpec(), "mixed": mixed, "sequences": {
		{Name: "age", Kind: example.Float, Shape: []int{1}}, {Name: "country", Kind: example.Bytes, Shape: []int{1}},
		{Name: "items", Kind: example.Int64, Sequence: true}, {Name: "label", Kind: example.Int64, Shape: []int{1}},
		{Name: "prices", Kind: example.Float, Sequence: true}, {Name: "queries", Kind: example.Bytes, Sequence: true},
		{Name: "tags", Kind: example.Int64},
	}}
}

// BenchmarkTensorFlowParse compares the CPU time of parsing a million rows, checksums and all, with
// that of TensorFlow on one thread, for the same files.
func BenchmarkTensorFlowParse(b *testing.B) {
	for _, data := range []string{"examples", "sequences"} {
		for _, file := range []string{"plain", "gzip"} {
			b.Run(data+"-"+file, func(b *testing.B) {
				p := newPeerFile(b, 1, peerSpecs()[data], file == "gzip", peerRows)
				var ours, theirs pass
				for b.Loop() {
					ours, theirs = ours.plus(p.ours(b)), theirs.plus(p.tensorFlow(b, "one thread"))
				}
				b.ReportMetric(ours.CPU/float64(ours.Rows)*1e6, "cpu-s/Mrow")
				b.ReportMetric(theirs.CPU/float64(theirs.Rows)*1e6, "tensorflow-cpu-s/Mrow")
			})
		}
	}
}

// BenchmarkTensorFlowInput compares the rate of parsing with that of tf.data as its guide
// recommends ("autotune") and with one thread, which takes the least CPU time.
func BenchmarkTensorFlowInput(b *testing.B) {
	for _, file := range []string{"plain", "gzip"} {
		b.Run(file, func(b *testing.B) {
			p := newPeerFile(b, 2, peerSpecs()["mixed"], file == "gzip", peerRows)
			var ours, tuned, single pass
			for b.Loop() {
				ours, tuned, single = ours.plus(p.ours(b)), tuned.plus(p.tensorFlow(b, "autotune")), single.plus(p.tensorFlow(b, "one thread"))
			}
			for prefix, of := range map[string]pass{"": ours, "autotune-": tuned, "one-thread-": single} {
				b.ReportMetric(float64(of.Rows)/of.CPU, prefix+"examples/cpu-s")
				b.ReportMetric(float64(of.Rows)/of.Wall, prefix+"examples/s")
			}
		})
	}
}

func TestBothParseTheSameFromTheFilesOfTheBenchmarks(t *testing.T) {
	t.Parallel()
	tftest.Python(t) // not with -short
	for name, spec := range peerSpecs() {
		err := tftest.WithPeer(t.Context(), 1, t.Output(), func(peer *tftest.Peer) error {
			p := writePeerFile(t, spec, true, 600)
			p.peer = peer
			p.agree(t)
			if ours, theirs := p.ours(t), p.tensorFlow(t, "autotune"); ours.Rows != 600 || theirs.Rows != 600 || theirs.CPU <= 0 {
				t.Errorf("%s: %+v and %+v, expected 600 rows", name, ours, theirs)
			}
			return nil
		})
		if err != nil {
			t.Fatal(err)
		}
	}
}

// pass is the time that parsing a file took.
type pass struct {
	Rows      int
	CPU, Wall float64 // seconds
}

func (p pass) plus(q pass) pass {
	return pass{Rows: p.Rows + q.Rows, CPU: p.CPU + q.CPU, Wall: p.Wall + q.Wall}
}

// peerFile is a file to parse, as passed to the script.
type peerFile struct {
	File  string        `json:"file"`
	Gzip  bool          `json:"gzip"`
	Batch int           `json:"batch"`
	Spec  []peerFeature `json:"spec"`
	Mode  string        `json:"mode"`

	spec example.Spec
	peer *tftest.Peer
}

type peerFeature struct {
	Name     string `json:"name"`
	Type     string `json:"type"`
	Shape    []int  `json:"shape"`
	Sequence bool   `json:"sequence"`
}

// newPeerFile writes a file, checks that both parse the same from it, and has each parse it once.
func newPeerFile(b *testing.B, threads int, spec example.Spec, gzip bool, rows int) peerFile {
	b.Helper()
	peer := tftest.BenchmarkPeer(b, threads)
	p := writePeerFile(b, spec, gzip, rows)
	p.peer = peer
	p.agree(b)
	p.ours(b)
	return p
}

// writePeerFile writes rows that have their features in random order, as TFX's writer leaves them.
func writePeerFile(tb testing.TB, spec example.Spec, gzip bool, rows int) peerFile {
	tb.Helper()
	p := peerFile{File: filepath.Join(tb.TempDir(), "rows"), Gzip: gzip, Batch: 256, spec: spec}
	if gzip {
		p.File += ".gz"
	}
	for _, f := range spec {
		p.Spec = append(p.Spec, peerFeature{f.Name, f.Kind.String(), f.Shape, f.Sequence})
	}
	w, err := tfrecord.Create(p.File)
	if err != nil {
		tb.Fatal(err)
	}
	random, order := rand.New(rand.NewPCG(1, 2)), append(example.Spec(nil), spec...)
	for range rows {
		random.Shuffle(len(order), func(i, j int) { order[i], order[j] = order[j], order[i] })
		var row example.Builder
		for _, f := range order {
			addValues(&row, f, random)
		}
		err = errors.Join(err, w.Append(row.Build()))
	}
	if err := errors.Join(err, w.Close()); err != nil {
		tb.Fatal(err)
	}
	return p
}

func addValues(row *example.Builder, f example.Feature, random *rand.Rand) {
	steps, values := 1, f.Size()
	if f.Sequence {
		steps = random.IntN(16)
	}
	if f.VarLen() {
		values = 1 + random.IntN(2)
	}
	switch f.Kind {
	case example.Int64:
		all := drawn(steps, values, func() int64 { return random.Int64N(100_000) })
		if f.Sequence {
			row.Int64Steps(f.Name, all...)
		} else {
			row.Int64(f.Name, all[0]...)
		}
	case example.Float:
		all := drawn(steps, values, func() float32 { return float32(random.NormFloat64()) })
		if f.Sequence {
			row.FloatSteps(f.Name, all...)
		} else {
			row.Float(f.Name, all[0]...)
		}
	default:
		all := drawn(steps, values, func() []byte { return fmt.Appendf(nil, "token-%d", random.IntN(1000)) })
		if f.Sequence {
			row.BytesSteps(f.Name, all...)
		} else {
			row.Bytes(f.Name, all[0]...)
		}
	}
}

// drawn returns so many steps of so many values.
func drawn[T any](steps, values int, draw func() T) [][]T {
	all := make([][]T, steps)
	for i := range all {
		for range values {
			all[i] = append(all[i], draw())
		}
	}
	return all
}

// ours is one pass by this package.
func (p peerFile) ours(tb testing.TB) (took pass) {
	tb.Helper()
	began, before := time.Now(), tftest.CPUSeconds(tb)
	p.batches(tb, func(b *example.Batch) { took.Rows += b.Rows })
	took.CPU, took.Wall = tftest.CPUSeconds(tb)-before, time.Since(began).Seconds()
	return took
}

// tensorFlow is one pass by TensorFlow, after one that is not measured.
func (p peerFile) tensorFlow(tb testing.TB, mode string) pass {
	tb.Helper()
	p.Mode = mode
	var took pass
	if _, err := p.peer.Call(benchScript, "parse", p, &took); err != nil {
		tb.Fatal(err)
	}
	return took
}

func (p peerFile) batches(tb testing.TB, use func(*example.Batch)) {
	tb.Helper()
	r, err := example.Open(example.Options{Patterns: []string{p.File}, Spec: p.spec, BatchSize: p.Batch, Epochs: 1})
	if err != nil {
		tb.Fatal(err)
	}
	defer r.Close()
	for {
		b, err := r.Next(tb.Context())
		if err == io.EOF {
			return
		}
		if err != nil {
			tb.Fatal(err)
		}
		use(b)
	}
}

// agree compares the sums of all columns. Sums of floats may differ because of the order of
// addition: by at most 1e-9 of the summed values.
func (p peerFile) agree(tb testing.TB) {
	tb.Helper()
	sums, sizes := map[string]float64{}, map[string]float64{}
	p.batches(tb, func(b *example.Batch) {
		for i := range b.Columns {
			sum, size := total(&b.Columns[i])
			sums[b.Columns[i].Feature.Name] += sum
			sizes[b.Columns[i].Feature.Name] += size
		}
	})
	var theirs map[string]float64
	if _, err := p.peer.Call(benchScript, "sums", p, &theirs); err != nil {
		tb.Fatal(err)
	}
	for name, sum := range sums {
		if want, ok := theirs[name]; !ok || math.Abs(sum-want) > 1e-9*sizes[name] {
			tb.Fatalf("column %s of %s adds up to %v, in TensorFlow to %v", name, filepath.Base(p.File), sum, want)
		}
	}
}

// total returns the sum of a column's values, for strings that of their lengths, and the sum of
// their sizes.
func total(c *example.Column) (sum, size float64) {
	for _, v := range c.Floats {
		sum, size = sum+float64(v), size+math.Abs(float64(v))
	}
	for _, v := range c.Ints {
		sum, size = sum+float64(v), size+math.Abs(float64(v))
	}
	return sum + float64(len(c.Data)), size + float64(len(c.Data))
}
