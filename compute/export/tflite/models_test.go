package tflite_test

import (
	"bytes"
	"math"
	"math/rand/v2"
	"testing"

	"github.com/stoker-ml/stoker/compute/export/tflite"
	"github.com/stoker-ml/stoker/compute/nn"
)

// model is a graph over the features of rows.
type model struct {
	name  string
	graph *nn.Graph
}

// rows returns random features, with ids that are out of range and numbers that are missing.
func rows(n int, seed uint64) map[string]nn.Value {
	r := rand.New(rand.NewPCG(seed, 5))
	size, id := nn.Floats(3), nn.Ints(2)
	for i := range n {
		size.Floats = append(size.Floats, 6*r.Float32()-3, r.Float32(), 100*r.Float32())
		if i%8 == 0 {
			size.Floats[3*i] = nan
		}
		id.Ints = append(id.Ints, int64(r.IntN(30))-5, int64(r.IntN(9)))
	}
	return map[string]nn.Value{"size": size, "id": id}
}

// built returns the graph of some layers over those features, brought to a common range.
func built(t *testing.T, name string, layers func(b *nn.Builder, size, id nn.Ref) nn.Ref) model {
	t.Helper()
	b := nn.NewBuilder(nn.NewRand(3))
	size := b.Normalize("size/normal", b.Input("size", nn.Float32, 3), []float32{0, 0.5, 50}, []float32{0.3, 2, 0.03})
	logits := layers(b, b.DropNaN("size/there", size), b.Clamp("id/known", b.Input("id", nn.Int64, 2), 20))
	b.Output("logits", logits)
	b.Output("probabilities", b.Activation("softmax", logits, nn.OpSoftmax))
	g, err := b.Graph()
	if err != nil {
		t.Fatal(err)
	}
	return model{name, g}
}

func models(t *testing.T) []model {
	t.Helper()
	return []model{
		built(t, "MLP", func(b *nn.Builder, size, _ nn.Ref) nn.Ref {
			return b.Dense("out", b.Dense("two", b.Dense("one", size, 64, nn.OpRelu), 32, nn.OpTanh), 3, "")
		}),
		built(t, "embeddings", func(b *nn.Builder, size, id nn.Ref) nn.Ref {
			x := b.Concat("x", size, b.Embedding("ids", id, 20, 64))
			return b.Dense("out", b.Dense("one", x, 16, nn.OpSigmoid), 3, "")
		}),
		built(t, "wide and deep", func(b *nn.Builder, size, id nn.Ref) nn.Ref {
			deep := b.Dense("deep", b.Concat("x", size, b.Embedding("ids", id, 20, 4)), 64, nn.OpRelu)
			wide := b.Dense("wide_out", b.OneHot("id/one_hot", id, 20), 3, "")
			return b.Add("sum", b.Dense("deep_out", b.Dense("deep2", deep, 32, nn.OpRelu), 3, ""), wide)
		}),
	}
}

// quantized is a way to write a file, and how far its answers may be from Go's.
type quantized struct {
	name      string
	o         tflite.Options
	tolerance float64
}

// kinds returns all ways. Tolerances, absolute for numbers within 1 and relative beyond:
//   - float32: 1e-5, sums of at most 131 products, each off by 6e-8 of some units;
//   - float16: 2e-3, every weight is off by 2^-12 of itself at most, and three layers add that up;
//   - weights in int8: 0.02, every weight is off by 1/254 of its column's largest at most, every
//     input of a layer likewise;
//   - all in int8: 0.03, every value between is rounded to one of 256 steps too. The rows asked for
//     are the sample rows: what is beyond their range would be cut off.
func kinds() []quantized {
	return []quantized{
		{"float32", tflite.Options{}, 1e-5},
		{"float16", tflite.Options{Quantization: tflite.Float16}, 2e-3},
		{"weights in int8", tflite.Options{Quantization: tflite.DynamicInt8}, 0.02},
		{"int8", tflite.Options{Quantization: tflite.Int8, Samples: rows(333, 2)}, 0.03},
	}
}

// Whole models answer in every runtime as in Go, 1 row and 333.
func TestWholeModelsAnswerAsInGo(t *testing.T) {
	t.Parallel()
	var calls []call
	var checks []func(map[string]answer)
	for _, m := range models(t) {
		for _, kind := range kinds() {
			file := written(t, m.graph, kind.o)
			for _, n := range []int{1, 333} {
				in := rows(n, 2)
				want, err := nn.Eval(m.graph, in)
				if err != nil {
					t.Fatal(err)
				}
				calls = append(calls, call{Model: file, Inputs: arrays(in)})
				checks = append(checks, func(got map[string]answer) {
					t.Run(m.name+", "+kind.name, func(t *testing.T) {
						checkClose(t, got, want, kind.tolerance)
						t.Logf("%d bytes, %d rows: largest difference %.2g", len(file), n, worst(got, want))
					})
				})
			}
		}
	}
	for i, got := range runAllLive(t, calls) {
		checks[i](got)
	}
}

// worst returns the largest difference in any runtime's answer.
func worst(got map[string]answer, want map[string]nn.Value) (d float64) {
	for _, outputs := range got {
		for name, w := range want {
			for i, x := range outputs[name].floats() {
				d = math.Max(d, apart(x, w.Floats[i]))
			}
		}
	}
	return d
}

func TestTheSameGraphGivesTheSameBytes(t *testing.T) {
	t.Parallel()
	o := tflite.Options{Quantization: tflite.Int8, Samples: rows(50, 1), Notes: []byte("x")}
	first := written(t, models(t)[2].graph, o)
	for range 3 {
		if !bytes.Equal(first, written(t, models(t)[2].graph, o)) {
			t.Fatal("two files of one graph differ")
		}
	}
}
