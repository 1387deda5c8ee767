package nn_test

import (
	"fmt"
	"math"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/stoker-ml/stoker/compute/nn"
)

func TestEvalComputesEachOp(t *testing.T) {
	t.Parallel()
	nan, inf := float32(math.NaN()), float32(math.Inf(1))
	param := func(shape []int, v ...float32) []nn.Param { return []nn.Param{{Name: "p", Shape: shape, Values: v}} }
	for name, c := range map[string]struct {
		in     nn.Value
		op     nn.Op
		attr   nn.Attr
		params []nn.Param
		want   []float32 // for OpCast, if the result is int64
	}{
		"matmul":  {in: nn.Floats(2, 1, 2, 3, 0), op: nn.OpMatMul, params: param([]int{2, 1}, 10, 1), want: []float32{12, 30}},
		"bias":    {in: nn.Floats(2, 1, 2, 3, 4), op: nn.OpAddBias, params: param([]int{2}, 10, 20), want: []float32{11, 22, 13, 24}},
		"sub":     {in: nn.Floats(2, 1, 2, 3, 4), op: nn.OpSub, params: param([]int{2}, 1, 2), want: []float32{0, 0, 2, 2}},
		"mul":     {in: nn.Floats(2, 1, 2, 3, 4), op: nn.OpMul, params: param([]int{2}, 2, 3), want: []float32{2, 6, 6, 12}},
		"mul one": {in: nn.Floats(2, 1, 2, 3, 4), op: nn.OpMul, params: param([]int{1}, 10), want: []float32{10, 20, 30, 40}},
		"div":     {in: nn.Floats(2, 1, 2, -3, 0), op: nn.OpDiv, params: param([]int{2}, 0, 4), want: []float32{inf, 0.5, -inf, 0}},
		"maximum": {in: nn.Floats(2, 1, 2, nan, -inf), op: nn.OpMaximum, params: param([]int{2}, 3, 1), want: []float32{3, 2, nan, 1}},
		"minimum": {in: nn.Floats(2, 1, 2, nan, -inf), op: nn.OpMinimum, params: param([]int{2}, 3, nan), want: []float32{1, nan, nan, nan}},
		"slice":   {in: nn.Floats(3, 1, 2, 3, 4, 5, 6), op: nn.OpSlice, attr: nn.Attr{Start: 1, End: 3}, want: []float32{2, 3, 5, 6}},
		"sum":     {in: nn.Floats(2, 1, 2, 3, nan), op: nn.OpSum, want: []float32{3, nan}},
		"mean":    {in: nn.Floats(2, 1, 2, 3, -inf), op: nn.OpMean, want: []float32{1.5, -inf}},
		"max":     {in: nn.Floats(2, 1, 2, nan, 3), op: nn.OpMax, want: []float32{2, nan}},
		"leaky":   {in: nn.Floats(1, -2, 2, nan), op: nn.OpLeakyRelu, attr: nn.Attr{Alpha: 0.5}, want: []float32{-1, 2, nan}},
		"softplus": {in: nn.Floats(1, 0, 1000, -1000, nan), op: nn.OpSoftplus,
			want: []float32{float32(math.Ln2), 1000, 0, nan}},
		"neg":     {in: nn.Floats(1, -2, inf), op: nn.OpNeg, want: []float32{2, -inf}},
		"abs":     {in: nn.Floats(1, -2, nan), op: nn.OpAbs, want: []float32{2, nan}},
		"exp":     {in: nn.Floats(1, 0, -inf, 1000), op: nn.OpExp, want: []float32{1, 0, inf}},
		"log":     {in: nn.Floats(1, 1, 0, -1), op: nn.OpLog, want: []float32{0, -inf, nan}},
		"log1p":   {in: nn.Floats(1, 0, -1, 1e-10), op: nn.OpLog1p, want: []float32{0, -inf, 1e-10}},
		"expm1":   {in: nn.Floats(1, 0, -inf, 1e-10), op: nn.OpExpm1, want: []float32{0, -1, 1e-10}},
		"sqrt":    {in: nn.Floats(1, 4, -1), op: nn.OpSqrt, want: []float32{2, nan}},
		"square":  {in: nn.Floats(1, -3, inf), op: nn.OpSquare, want: []float32{9, inf}},
		"inverse": {in: nn.Floats(1, 4, 0), op: nn.OpInverse, want: []float32{0.25, inf}},
		"relu":    {in: nn.Floats(1, -1, 2, nan), op: nn.OpRelu, want: []float32{0, 2, nan}},
		"tanh":    {in: nn.Floats(1, 0, inf), op: nn.OpTanh, want: []float32{0, 1}},
		"sigmoid": {in: nn.Floats(1, 0, 1000, -1000), op: nn.OpSigmoid, want: []float32{0.5, 1, 0}},
		"softmax": {in: nn.Floats(2, 7, 7, 1000, 0), op: nn.OpSoftmax, want: []float32{0.5, 0.5, 1, 0}},
		"dropnan": {in: nn.Floats(1, nan, 2), op: nn.OpDropNaN, want: []float32{0, 2}},
		"cast":    {in: nn.Ints(1, -3, 4), op: nn.OpCast, want: []float32{-3, 4}},
		"onehot":  {in: nn.Ints(2, 1, 0, -1, 2), op: nn.OpOneHot, attr: nn.Attr{Depth: 2}, want: []float32{0, 1, 1, 0, 0, 0, 0, 0}},
		"clamp":   {in: nn.Ints(1, -1, 0, 1, 2, 9), op: nn.OpClamp, attr: nn.Attr{Depth: 3}, want: []float32{2, 0, 1, 2, 2}},
		"embed":   {in: nn.Ints(2, 1, 0), op: nn.OpEmbed, params: param([]int{2, 2}, 1, 2, 3, 4), want: []float32{3, 4, 1, 2}},
		"vocab": {in: nn.Strings(1, "a", "", "b"), op: nn.OpVocab, want: []float32{1, 2, 0},
			attr: nn.Attr{Depth: 3, Vocabulary: []string{"b", "a"}}},
		// TensorFlow's result for tf.strings.to_hash_bucket_fast(x, 1000).
		"hash": {in: nn.Strings(1, "hello", ""), op: nn.OpHash, attr: nn.Attr{Depth: 1000}, want: []float32{296, 263}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			got := evalOp(t, c.in, c.op, c.attr, c.params)
			if diff := cmp.Diff(c.want, got, sameFloat); diff != "" {
				t.Errorf("want - got +\n%s", diff)
			}
		})
	}
}

// sameFloat: equal to the bit, NaN equal to NaN.
var sameFloat = cmp.Comparer(func(a, b float32) bool { return a == b || a != a && b != b })

func evalOp(t *testing.T, in nn.Value, op nn.Op, attr nn.Attr, params []nn.Param) []float32 {
	t.Helper()
	g := nn.Graph{
		Inputs: []nn.Input{{Name: "x", Kind: in.Kind, Width: in.Width}},
		Nodes:  []nn.Node{{Name: "y", Op: op, In: []string{"x"}, Attr: attr}},
		Params: params,
	}
	if params != nil {
		g.Nodes[0].In = append(g.Nodes[0].In, "p")
	}
	types, err := g.Types()
	if err != nil {
		t.Fatal(err)
	}
	out := nn.Output{Name: "out", Node: "y", Width: types["y"].Width}
	if types["y"].Kind == nn.Int64 {
		g.Nodes = append(g.Nodes, nn.Node{Name: "z", Op: nn.OpCast, In: []string{"y"}})
		out.Node = "z"
	}
	g.Outputs = []nn.Output{out}
	got, err := nn.Eval(&g, map[string]nn.Value{"x": in})
	if err != nil {
		t.Fatal(err)
	}
	return got["out"].Floats
}

// inputs are three rows.
var inputs = map[string]nn.Value{
	"x":  nn.Floats(2, 0.5, -1.25, 1.5, 0.75, -0.3, 0.9),
	"id": nn.Ints(2, 0, 3, 3, 3, 1, 0),
}

// lookUp is a dense layer over two numbers and the rows that two ids look up in a table of four.
func lookUp(t *testing.T) *nn.Graph {
	t.Helper()
	b := nn.NewBuilder(nn.NewRand(3))
	all := b.Concat("all", b.Input("x", nn.Float32, 2), b.Embedding("table", b.Input("id", nn.Int64, 2), 4, 3))
	b.Output("out", b.Dense("out", all, 3, nn.OpTanh))
	g, err := b.Graph()
	if err != nil {
		t.Fatal(err)
	}
	return g
}

func TestEvalTakesAnyNumberOfRows(t *testing.T) {
	t.Parallel()
	g := lookUp(t)
	e, err := nn.NewEvaluator(g)
	if err != nil {
		t.Fatal(err)
	}
	if err := e.Run(inputs); err != nil {
		t.Fatal(err)
	}
	all := append([]float32(nil), e.Value(g.Outputs[0].Node).Floats...)
	for r := range 3 {
		row := map[string]nn.Value{
			"x":  nn.Floats(2, inputs["x"].Floats[2*r:2*r+2]...),
			"id": nn.Ints(2, inputs["id"].Ints[2*r:2*r+2]...),
		}
		if err := e.Run(row); err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(all[3*r:3*r+3], e.Value(g.Outputs[0].Node).Floats); diff != "" {
			t.Errorf("row %d alone: want - got +\n%s", r, diff)
		}
	}
	if err := e.Run(map[string]nn.Value{"x": nn.Floats(2), "id": nn.Ints(2)}); err != nil || e.Rows() != 0 {
		t.Errorf("no rows: %d, %v", e.Rows(), err)
	}
}

func TestEvalNamesTheRowOfAnIndexOutOfRange(t *testing.T) {
	t.Parallel()
	_, err := nn.Eval(lookUp(t), map[string]nn.Value{"x": nn.Floats(2, 0, 0, 0, 0), "id": nn.Ints(2, 0, 1, 2, 4)})
	if err == nil || !strings.Contains(err.Error(), "row 1: index 4 is outside 0..3") {
		t.Errorf("error is %v", err)
	}
}

func TestGraphsThatMakeNoSenseAreRefused(t *testing.T) {
	t.Parallel()
	for want, g := range map[string]nn.Graph{
		`node "y", Frobnicate: unknown op`: {Nodes: []nn.Node{{Name: "y", Op: "Frobnicate"}}},
		`node "y", Relu: operand "z" is not computed before`: {
			Nodes: []nn.Node{{Name: "y", Op: nn.OpRelu, In: []string{"z"}}, {Name: "z", Op: nn.OpRelu, In: []string{"y"}}},
		},
		`node "y", Relu: operand "x" is string[b,1], expected float32`: {
			Inputs: []nn.Input{{Name: "x", Kind: nn.String, Width: 1}},
			Nodes:  []nn.Node{{Name: "y", Op: nn.OpRelu, In: []string{"x"}}},
		},
		`node "y", MatMul: float32[b,1] times param of shape [2 2]`: {
			Inputs: []nn.Input{{Name: "x", Width: 1}},
			Params: []nn.Param{{Name: "w", Shape: []int{2, 2}, Values: make([]float32, 4)}},
			Nodes:  []nn.Node{{Name: "y", Op: nn.OpMatMul, In: []string{"x", "w"}}},
		},
		`param "w": 3 values for shape [2 2]`: {
			Params: []nn.Param{{Name: "w", Shape: []int{2, 2}, Values: make([]float32, 3)}},
		},
		`name "x" is empty or defined twice`: {Inputs: []nn.Input{{Name: "x", Width: 1}, {Name: "x", Width: 1}}},
		`output "o": no node "y"`:            {Outputs: []nn.Output{{Name: "o", Node: "y"}}},
		`output "o": the name is empty or given twice`: {
			Inputs:  []nn.Input{{Name: "x", Width: 1}, {Name: "y", Width: 1}},
			Outputs: []nn.Output{{Name: "o", Node: "x", Width: 1}, {Name: "o", Node: "y", Width: 1}},
		},
		`output "": the name is empty or given twice`: {
			Inputs: []nn.Input{{Name: "x", Width: 1}}, Outputs: []nn.Output{{Node: "x", Width: 1}},
		},
		`output "o": width 2, but node "x" is float32[b,1]`: {
			Inputs: []nn.Input{{Name: "x", Width: 1}}, Outputs: []nn.Output{{Name: "o", Node: "x", Width: 2}},
		},
		`node "y", Vocab: depth 1, expected 2, one more than the vocabulary`: {
			Inputs: []nn.Input{{Name: "x", Kind: nn.String, Width: 1}},
			Nodes:  []nn.Node{{Name: "y", Op: nn.OpVocab, In: []string{"x"}, Attr: nn.Attr{Depth: 1, Vocabulary: []string{"a"}}}},
		},
	} {
		if _, err := g.Types(); err == nil || err.Error() != want {
			t.Errorf("error is %v, expected %s", err, want)
		}
	}
}

func ExampleBuilder() {
	b := nn.NewBuilder(nn.NewRand(1))
	size := b.Input("size", nn.Float32, 1)
	color := b.Vocabulary("color_id", b.Input("color", nn.String, 1), []string{"red", "green"})
	h := b.Concat("features", size, b.OneHot("color_one_hot", color, 3))
	h = b.Dense("hidden", h, 8, nn.OpRelu)
	logits := b.Dense("logits", h, 2, "")
	b.Output("probabilities", b.Activation("probabilities", logits, nn.OpSoftmax))
	g, err := b.Graph()
	if err != nil {
		panic(err)
	}
	out, err := nn.Eval(g, map[string]nn.Value{"size": nn.Floats(1, 0.5), "color": nn.Strings(1, "blue")})
	if err != nil {
		panic(err)
	}
	p := out["probabilities"].Floats
	fmt.Printf("%d probabilities that add up to %.3f\n", len(p), p[0]+p[1])
	// Output: 2 probabilities that add up to 1.000
}

// wide is a dense layer over numbers and one-hot ids that are mostly zeros.
func wide(t *testing.T) *nn.Graph {
	t.Helper()
	b := nn.NewBuilder(nn.NewRand(5))
	x, ids := b.Input("x", nn.Float32, 2), b.Input("id", nn.Int64, 2)
	all := b.Concat("all", b.OneHot("first", ids, 20), x, b.OneHot("second", b.Clamp("last", ids, 9), 9))
	b.Output("out", b.Dense("out", all, 3, ""))
	g, err := b.Graph()
	if err != nil {
		t.Fatal(err)
	}
	return g
}

// A product of rows that are mostly zeros equals that of the rows themselves: here of columns
// 0..39, 40..41 and 42..59. An id that is outside of its depth counts as none.
func TestAnEvaluatorMultipliesOneHotIDsByTheirPlaces(t *testing.T) {
	t.Parallel()
	g := wide(t)
	out, err := nn.Eval(g, map[string]nn.Value{"x": nn.Floats(2, 0.5, -2, 3, 0), "id": nn.Ints(2, 0, 19, 7, -1)})
	if err != nil {
		t.Fatal(err)
	}
	kernel, want := g.Params[0].Values, []float32{0, 0, 0, 0, 0, 0}
	for r, columns := range []map[int]float32{
		{0: 1, 20 + 19: 1, 40: 0.5, 41: -2, 42: 1, 51 + 8: 1},
		{7: 1, 40: 3, 42 + 7: 1, 51 + 8: 1},
	} {
		for c, x := range columns {
			for j := range 3 {
				want[3*r+j] += x * kernel[3*c+j]
			}
		}
	}
	for i, y := range out["out"].Floats {
		if math.Abs(float64(y-want[i])) > 1e-6 { // sums of six numbers below 1, in another order
			t.Errorf("element %d is %v, expected %v", i, y, want[i])
		}
	}
}

func TestAnEvaluatorAllocatesNothingForFewerRows(t *testing.T) {
	for name, g := range map[string]*nn.Graph{"table": lookUp(t), "one-hot": wide(t)} {
		e, err := nn.NewEvaluator(g)
		if err != nil {
			t.Fatal(err)
		}
		one := map[string]nn.Value{"x": nn.Floats(2, 1, 2), "id": nn.Ints(2, 1, 2)}
		run := func() {
			for _, rows := range []map[string]nn.Value{inputs, one} {
				if err := e.Run(rows); err != nil {
					t.Fatal(err)
				}
			}
		}
		if allocated := testing.AllocsPerRun(10, run); allocated != 0 {
			t.Errorf("%s: two runs allocate %v times, expected 0", name, allocated)
		}
	}
}

func TestAnEvaluatorKeepsTheNodesThatItIsAskedFor(t *testing.T) {
	t.Parallel()
	g := wide(t)
	if _, err := nn.NewEvaluator(g, "none"); err == nil || err.Error() != `graph: no node "none"` {
		t.Errorf("error is %v", err)
	}
	e, err := nn.NewEvaluator(g, "last", "id")
	if err != nil {
		t.Fatal(err)
	}
	for _, rows := range []map[string]nn.Value{inputs, {"x": nn.Floats(2, 1, 2), "id": nn.Ints(2, 1, 2)}} {
		if err := e.Run(rows); err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(rows["id"].Ints, e.Value("last").Ints); diff != "" { // all are below 8
			t.Errorf("want - got +\n%s", diff)
		}
		if e.Value("all").Floats != nil || e.Value("id").Ints == nil {
			t.Errorf("a node that nothing needs has the value %v, an input %v", e.Value("all"), e.Value("id"))
		}
	}
}
