package tflite_test

import (
	"fmt"
	"math"
	"math/rand/v2"
	"testing"

	"github.com/stoker-ml/stoker/compute/export/tflite"
	"github.com/stoker-ml/stoker/compute/nn"
)

// opCase is one op alone, over x and y of 5 and z of 1 column, or over ids.
type opCase struct {
	name string
	node nn.Node
	// width of the result
	width int
	// feed makes a number of x, y and z from a normally distributed one; nil takes it as it is.
	feed func(float32) float32
	// odd are further numbers to be fed: infinities and their kin.
	odd []float32
	// cut leaves the reference kernels out, for which infinity is the largest float32.
	cut bool
}

var (
	inf  = float32(math.Inf(1))
	nan  = float32(math.NaN())
	edge = []float32{0, inf, -inf, nan, 1e-30, -1e-7, 3e38, 88, -104}
	// firm are for ops whose answer to NaN is the runtime's own affair.
	firm = []float32{0, inf, -inf, 1e-30, -1e-7, 3e38, 88, -104}
)

func positive(x float32) float32 { return float32(x*x) + 1e-3 } // rounded twice on every processor

func opCases() []opCase {
	node := func(op nn.Op, in ...string) nn.Node { return nn.Node{Op: op, In: in} }
	with := func(n nn.Node, a nn.Attr) nn.Node { n.Attr = a; return n }
	cases := []opCase{
		{name: "MatMul", node: node(nn.OpMatMul, "x", "matrix"), width: 3},
		{name: "AddBias", node: node(nn.OpAddBias, "x", "vector"), width: 5, odd: edge},
		{name: "Relu", node: node(nn.OpRelu, "x"), width: 5, odd: firm},
		{name: "LeakyRelu", node: with(node(nn.OpLeakyRelu, "x"), nn.Attr{Alpha: 0.3}), width: 5, odd: firm},
		{name: "Tanh", node: node(nn.OpTanh, "x"), width: 5, odd: firm},
		{name: "Sigmoid", node: node(nn.OpSigmoid, "x"), width: 5, odd: firm},
		{name: "Softplus", node: node(nn.OpSoftplus, "x"), width: 5, odd: edge},
		{name: "Softmax", node: node(nn.OpSoftmax, "x"), width: 5, odd: []float32{0, 1e-30, 80, -80, -1e30}},
		{name: "Neg", node: node(nn.OpNeg, "x"), width: 5, odd: edge},
		{name: "Abs", node: node(nn.OpAbs, "x"), width: 5, odd: edge},
		{name: "Exp", node: node(nn.OpExp, "x"), width: 5, odd: firm},
		{name: "Log", node: node(nn.OpLog, "x"), width: 5, feed: positive, odd: []float32{0, 1e-30, 1e30, -1}},
		{name: "Log1p", node: node(nn.OpLog1p, "x"), width: 5, feed: positive, cut: true,
			odd: []float32{0, 1e-30, -1e-7, 1e30, -1, -2}},
		{name: "Expm1", node: node(nn.OpExpm1, "x"), width: 5, odd: []float32{0, inf, -inf, 1e-30, -1e-7, -104, 30}},
		{name: "Sqrt", node: node(nn.OpSqrt, "x"), width: 5, feed: positive, odd: []float32{0, 1e-30, 1e30, -1, nan}},
		{name: "Square", node: node(nn.OpSquare, "x"), width: 5, odd: edge},
		{name: "Inverse", node: node(nn.OpInverse, "x"), width: 5, feed: positive, odd: edge},
		{name: "DropNaN", node: node(nn.OpDropNaN, "x"), width: 5, odd: edge},
		{name: "Concat", node: node(nn.OpConcat, "x", "z", "y"), width: 11, odd: edge},
		{name: "Concat of one", node: node(nn.OpConcat, "x"), width: 5, odd: edge},
		{name: "Slice", node: with(node(nn.OpSlice, "x"), nn.Attr{Start: 1, End: 4}), width: 3, odd: edge},
		{name: "Sum", node: node(nn.OpSum, "x"), width: 1},
		{name: "Mean", node: node(nn.OpMean, "x"), width: 1},
		{name: "Max", node: node(nn.OpMax, "x"), width: 1, odd: firm},
		{name: "Cast", node: node(nn.OpCast, "ids"), width: 2},
		{name: "OneHot", node: with(node(nn.OpOneHot, "ids"), nn.Attr{Depth: 6}), width: 12},
		{name: "Clamp", node: with(node(nn.OpClamp, "ids"), nn.Attr{Depth: 6}), width: 2},
		{name: "Within", node: with(node(nn.OpWithin, "ids"), nn.Attr{Depth: 6, Default: 2}), width: 2},
		{name: "Bucket", node: with(node(nn.OpBucket, "x"), nn.Attr{Boundaries: []float32{-1, 0, 2.5}}), width: 5,
			odd: append(edge, -1, 2.5)},
		{name: "ArgMax", node: node(nn.OpArgMax, "x"), width: 1, odd: []float32{0, inf, -inf, 3e38}},
		{name: "Label", node: with(node(nn.OpLabel, "clamped"), nn.Attr{Vocabulary: []string{"", "Köln", "a", "b\xff", "San José", "東京"}}), width: 2},
		{name: "Embed", node: node(nn.OpEmbed, "clamped", "table"), width: 6},
	}
	for _, op := range []nn.Op{nn.OpAdd, nn.OpSub, nn.OpMul, nn.OpDiv, nn.OpMaximum, nn.OpMinimum} {
		for _, second := range []string{"y", "z", "vector", "single"} {
			c := opCase{name: fmt.Sprintf("%s of %s", op, second), node: node(op, "x", second), width: 5, odd: edge}
			if op == nn.OpMaximum || op == nn.OpMinimum {
				c.odd = firm
			}
			cases = append(cases, c)
		}
	}
	return cases
}

// graph returns the op between the inputs it needs and an output.
func (c opCase) graph() *nn.Graph {
	r := rand.New(rand.NewPCG(1, 2))
	param := func(name string, shape ...int) nn.Param {
		n := 1
		for _, d := range shape {
			n *= d
		}
		p := nn.Param{Name: name, Shape: shape, Values: make([]float32, n)}
		for i := range p.Values {
			p.Values[i] = float32(r.NormFloat64())
		}
		return p
	}
	params := []nn.Param{param("matrix", 5, 3), param("vector", 5), param("single", 1), param("table", 6, 3)}
	g := &nn.Graph{Outputs: []nn.Output{{Name: "out", Node: "op", Width: c.width}}}
	c.node.Name = "op"
	needed := map[string]bool{}
	for _, in := range c.node.In {
		needed[in] = true
	}
	inputs := []nn.Input{{Name: "x", Width: 5}, {Name: "y", Width: 5}, {Name: "z", Width: 1}, {Name: "ids", Kind: nn.Int64, Width: 2}}
	for _, in := range inputs {
		if needed[in.Name] || in.Name == "ids" && needed["clamped"] {
			g.Inputs = append(g.Inputs, in)
		}
	}
	if needed["clamped"] {
		g.Nodes = append(g.Nodes, nn.Node{Name: "clamped", Op: nn.OpClamp, In: []string{"ids"}, Attr: nn.Attr{Depth: 6}})
	}
	for _, p := range params {
		if needed[p.Name] {
			g.Params = append(g.Params, p)
		}
	}
	g.Nodes = append(g.Nodes, c.node)
	return g
}

// rows returns random ones, with the odd numbers scattered among them.
func (c opCase) rows(g *nn.Graph, n int, r *rand.Rand) map[string]nn.Value {
	rows := map[string]nn.Value{}
	for _, in := range g.Inputs {
		v := nn.Value{Kind: in.Kind, Width: in.Width}
		for range n * in.Width {
			if in.Kind == nn.Int64 {
				v.Ints = append(v.Ints, r.Int64N(12)-3)
				continue
			}
			v.Floats = append(v.Floats, c.number(r))
		}
		if in.Kind == nn.Int64 {
			v.Ints[0] = math.MaxInt64 // beyond what 32 bits would hold
		}
		rows[in.Name] = v
	}
	return rows
}

func (c opCase) number(r *rand.Rand) float32 {
	if len(c.odd) > 0 && r.IntN(4) == 0 {
		return c.odd[r.IntN(len(c.odd))]
	}
	x := float32(r.NormFloat64() * 3)
	if c.feed != nil {
		return c.feed(x)
	}
	return x
}

// Every op alone answers in every runtime as in Go, for 1 row and 33. Tolerance 2e-6: a few
// roundings of float32 (1.2e-7 each), and runtimes that approximate exp and tanh by polynomials.
// Logarithms and roots of numbers beyond 1e30 are left out: LiteRT's approximations fail there, at
// the root of infinity, and at its logarithm and that of NaN, which are 88.4 and 88.8 on processors
// without AVX-512.
func TestEachOpAnswersAsInGo(t *testing.T) {
	t.Parallel()
	const tolerance = 2e-6
	var calls []call
	var wants []map[string]nn.Value
	var names []string
	var cut []bool
	for _, c := range opCases() {
		g := c.graph()
		model := written(t, g, tflite.Options{})
		for _, n := range []int{1, 33} {
			rows := c.rows(g, n, rand.New(rand.NewPCG(3, uint64(n))))
			want, err := nn.Eval(g, rows)
			if err != nil {
				t.Fatalf("%s: %v", c.name, err)
			}
			calls = append(calls, call{Model: model, Inputs: arrays(rows)})
			wants = append(wants, want)
			cut = append(cut, c.cut)
			names = append(names, fmt.Sprintf("%s, %d rows", c.name, n))
		}
	}
	for i, got := range runAll(t, calls) {
		if cut[i] {
			delete(got, "reference kernels")
		}
		t.Run(names[i], func(t *testing.T) { checkClose(t, got, wants[i], tolerance) })
	}
}

// Log1p and Expm1 of a small number are nearly that number: taken as log(1 + x) and exp(x) - 1 they
// would lose its digits. Relative tolerance 1e-5, most of it from LiteRT's logarithm beyond 0.03.
func TestSmallNumbersKeepTheirDigits(t *testing.T) {
	t.Parallel()
	small := nn.Floats(5, 1e-9, -1e-7, 1.2345e-5, -3.3e-4, 0.0123, -0.2, 1e-20, 0.031, 0.0299, -7e-8)
	in := map[string]nn.Value{"x": small}
	var calls []call
	var wants []nn.Value
	for _, c := range opCases() {
		if c.name != "Log1p" && c.name != "Expm1" {
			continue
		}
		g := c.graph()
		want, err := nn.Eval(g, in)
		if err != nil {
			t.Fatal(err)
		}
		calls = append(calls, call{Model: written(t, g, tflite.Options{}), Inputs: arrays(in)})
		wants = append(wants, want["out"])
	}
	for i, got := range runAll(t, calls) {
		if len(got) == 0 {
			t.Error("no runtime answered")
		}
		for runtime, outputs := range got {
			answered := outputs["out"].floats()
			if len(answered) != len(wants[i].Floats) {
				t.Errorf("%s: %d numbers, want %d", runtime, len(answered), len(wants[i].Floats))
				continue
			}
			for j, x := range answered {
				if w := wants[i].Floats[j]; !(math.Abs(float64(x-w)) <= 1e-5*math.Abs(float64(w))) {
					t.Errorf("%s, op %d of %g: %g, want %g", runtime, i, small.Floats[j], x, w)
				}
			}
		}
	}
}
