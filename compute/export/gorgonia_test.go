package export_test

import (
	_ "embed"
	"errors"
	"math"
	"math/rand/v2"
	"path/filepath"
	"testing"

	"gorgonia.org/gorgonia"
	"gorgonia.org/tensor"

	"github.com/stoker-ml/stoker/compute/data/example"
	"github.com/stoker-ml/stoker/compute/export"
	"github.com/stoker-ml/stoker/compute/nn/autodiff"
	"github.com/stoker-ml/stoker/compute/tf/savedmodel"
	"github.com/stoker-ml/stoker/compute/tf/tftest"
)

//go:embed testdata/run.py
var runScript string

// flats is a model as a user of Gorgonia writes it: size, rooms and age of a flat, and its quarter,
// to its rent and whether it is let. It does not depend on Stoker.
type flats struct {
	*gorgonia.ExprGraph
	x, quarter          *gorgonia.Node // inputs: [rows,3], and ids [rows]
	rent, let           *gorgonia.Node // outputs: [rows,1], and probabilities [rows,2]
	weights             gorgonia.Nodes
	rows                int
	wantRent, wantLabel *gorgonia.Node

	said map[string]*gorgonia.Value // of the outputs, after a run
}

const quarters = 5

func newFlats(rows int) *flats {
	f := &flats{ExprGraph: gorgonia.NewGraph(), rows: rows}
	f.x = gorgonia.NewMatrix(f.ExprGraph, tensor.Float32, gorgonia.WithShape(rows, 3), gorgonia.WithName("x"))
	f.quarter = gorgonia.NewVector(f.ExprGraph, tensor.Int, gorgonia.WithShape(rows), gorgonia.WithName("quarter"))
	f.wantRent = gorgonia.NewMatrix(f.ExprGraph, tensor.Float32, gorgonia.WithShape(rows, 1), gorgonia.WithName("want_rent"))
	f.wantLabel = gorgonia.NewMatrix(f.ExprGraph, tensor.Float32, gorgonia.WithShape(rows, 2), gorgonia.WithName("want_let"))

	place := must(gorgonia.ByIndices(f.weight("quarters", quarters, 2), f.quarter, 0))
	size := must(gorgonia.Log1p(must(gorgonia.Reshape(must(gorgonia.Slice(f.x, nil, gorgonia.S(0))), tensor.Shape{rows, 1}))))
	hidden := f.dense("hidden", must(gorgonia.Concat(1, f.x, size, place)), 6, 8)
	deep := must(gorgonia.Tanh(hidden))
	f.rent = f.dense("rent", must(gorgonia.Concat(1, must(gorgonia.Rectify(hidden)), deep)), 16, 1)
	f.let = must(gorgonia.SoftMax(f.dense("let", deep, 8, 2), 1))
	f.said = map[string]*gorgonia.Value{"rent": new(gorgonia.Value), "let": new(gorgonia.Value)}
	gorgonia.Read(f.rent, f.said["rent"])
	gorgonia.Read(f.let, f.said["let"])
	return f
}

// weight returns a matrix to learn; the same name gives the same numbers at first.
func (f *flats) weight(name string, shape ...int) *gorgonia.Node {
	rng := rand.New(rand.NewPCG(uint64(len(name)), uint64(shape[0])))
	values := make([]float32, shape[0]*shape[1])
	for i := range values {
		values[i] = float32(rng.NormFloat64() / 3)
	}
	n := gorgonia.NewMatrix(f.ExprGraph, tensor.Float32, gorgonia.WithShape(shape...), gorgonia.WithName(name),
		gorgonia.WithValue(tensor.New(tensor.WithShape(shape...), tensor.WithBacking(values))))
	f.weights = append(f.weights, n)
	return n
}

func (f *flats) dense(name string, x *gorgonia.Node, in, out int) *gorgonia.Node {
	product := must(gorgonia.Mul(x, f.weight(name+"/kernel", in, out)))
	return must(gorgonia.BroadcastAdd(product, f.weight(name+"/bias", 1, out), nil, []byte{0}))
}

func must(n *gorgonia.Node, err error) *gorgonia.Node {
	if err != nil {
		panic(err)
	}
	return n
}

// feed draws flats, their asking prices and whether those are paid.
func (f *flats) feed(rng *rand.Rand) (x []float32, quarter []int) {
	rent, let := make([]float32, f.rows), make([]float32, 2*f.rows)
	for i := range f.rows {
		size, q := rng.Float32()*3, rng.IntN(quarters)
		x = append(x, size, float32(rng.IntN(4)), rng.Float32())
		quarter = append(quarter, q)
		rent[i] = size * (1 + 0.2*float32(q))
		let[2*i+rng.IntN(2)] = 1
	}
	bind(f.x, x, f.rows, 3)
	bind(f.quarter, quarter, f.rows)
	bind(f.wantRent, rent, f.rows, 1)
	bind(f.wantLabel, let, f.rows, 2)
	return x, quarter
}

func bind[T any](n *gorgonia.Node, values []T, shape ...int) {
	if err := gorgonia.Let(n, tensor.New(tensor.WithShape(shape...), tensor.WithBacking(values))); err != nil {
		panic(err)
	}
}

// learn takes steps as any Gorgonia program does, and returns the mean squared error of the rent at
// the last.
func (f *flats) learn(t *testing.T, steps int) float32 {
	t.Helper()
	off := must(gorgonia.Mean(must(gorgonia.Square(must(gorgonia.Sub(f.rent, f.wantRent))))))
	unlikely := must(gorgonia.Neg(must(gorgonia.Mean(must(gorgonia.HadamardProd(f.wantLabel, must(gorgonia.Log(f.let))))))))
	var loss gorgonia.Value
	gorgonia.Read(off, &loss)
	if _, err := gorgonia.Grad(must(gorgonia.Add(off, unlikely)), f.weights...); err != nil {
		t.Fatal(err)
	}
	machine := gorgonia.NewTapeMachine(f.ExprGraph, gorgonia.BindDualValues(f.weights...))
	defer machine.Close()
	solver, rng := gorgonia.NewAdamSolver(gorgonia.WithLearnRate(0.01)), rand.New(rand.NewPCG(1, 2))
	for range steps {
		f.feed(rng)
		err := machine.RunAll()
		if err == nil {
			err = solver.Step(gorgonia.NodesToValueGrads(f.weights))
		}
		if err != nil {
			t.Fatal(err)
		}
		machine.Reset()
	}
	return loss.Data().(float32)
}

// answers returns Gorgonia's predictions for some flats.
func (f *flats) answers(t *testing.T, rng *rand.Rand) (x []float32, quarter []int, want map[string][]float32) {
	t.Helper()
	x, quarter = f.feed(rng)
	machine := gorgonia.NewTapeMachine(f.ExprGraph)
	defer machine.Close()
	if err := machine.RunAll(); err != nil {
		t.Fatal(err)
	}
	want = map[string][]float32{}
	for name, v := range f.said {
		want[name] = (*v).Data().([]float32)
	}
	return x, quarter, want
}

// A model written and trained with Gorgonia alone goes out in every format, and TensorFlow, LiteRT
// and ONNX Runtime answer what Gorgonia does.
func TestAGorgoniaProgramRunsEverywhere(t *testing.T) {
	t.Parallel()
	f := newFlats(40)
	if loss := f.learn(t, 300); loss > 0.2 {
		t.Fatalf("the rent is off by %v: nothing was learnt", loss)
	}
	g, err := autodiff.FromGorgonia(gorgonia.Nodes{f.x, f.quarter}, map[string]*gorgonia.Node{"rent": f.rent, "let": f.let})
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	m := export.Model{Model: savedmodel.Model{Graph: g, Spec: example.Spec{
		{Name: "quarter", Kind: example.Int64, Shape: []int{1}}, {Name: "x", Kind: example.Float, Shape: []int{3}},
	}}}
	formats := []string{"tflite", "onnx"}
	err = errors.Join(export.Write(t.Context(), export.Targets{Serving: filepath.Join(dir, "Format-Serving"), Formats: formats}, m),
		export.Check(dir, formats))
	if err != nil {
		t.Fatal(err)
	}
	x, quarter, want := f.answers(t, rand.New(rand.NewPCG(3, 4)))
	var got map[string]map[string][]float32 // by runtime
	tftest.RunLive(t, runScript, map[string]any{"model": dir, "x": x, "quarter": quarter}, &got)
	for _, runtime := range []string{"tensorflow", "tensorflow from tf.Examples", "litert", "onnxruntime"} {
		for name, w := range want {
			near(t, runtime+": "+name, w, got[runtime][name])
		}
	}
}

// near holds to 1e-5, absolute up to 1 and relative above: all compute in float32, and add up in
// orders of their own.
func near(t *testing.T, what string, want, got []float32) {
	t.Helper()
	if len(got) != len(want) {
		t.Fatalf("%s has %d values, want %d", what, len(got), len(want))
	}
	for i := range want {
		w, g := float64(want[i]), float64(got[i])
		if !(math.Abs(g-w) <= 1e-5*max(1, math.Abs(w))) {
			t.Errorf("%s[%d] is %v, want %v", what, i, g, w)
		}
	}
}
