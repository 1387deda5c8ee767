package onnx_test

import (
	"math"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"testing"

	"github.com/stoker-ml/stoker/compute/export/onnx"
	"github.com/stoker-ml/stoker/compute/nn"
)

var (
	nan  = float32(math.NaN())
	inf  = float32(math.Inf(1))
	zero = float32(0)
)

// odd are rows of two with all that float32 has: signed zeros, tiny and huge numbers, infinities,
// NaN.
var odd = nn.Floats(2, 0.5, -0.5, 1, -1, 3.25, -7, zero, -zero, 1e-7, -1e-7, 1e-42, 30, -30, 100, -100, 1e38, -1e38, inf, -inf, nan, 2, nan, nan, -3)

// single returns a graph of one op over inputs x and, if they are given, y and a param p.
func single(op nn.Op, attr nn.Attr, width int, inputs map[string]nn.Value, params ...nn.Param) modelCase {
	g := &nn.Graph{Params: params, Outputs: []nn.Output{{Name: "result", Node: "node", Width: width}}}
	node := nn.Node{Name: "node", Op: op, Attr: attr}
	for _, name := range []string{"x", "y", "z"} {
		if v, ok := inputs[name]; ok {
			g.Inputs = append(g.Inputs, nn.Input{Name: name, Kind: v.Kind, Width: v.Width})
			node.In = append(node.In, name)
		}
	}
	for _, p := range params {
		node.In = append(node.In, p.Name)
	}
	g.Nodes = []nn.Node{node}
	return modelCase{name: string(op), graph: g, rows: inputs}
}

func on(x ...nn.Value) map[string]nn.Value {
	rows := map[string]nn.Value{}
	for i, v := range x {
		rows[string(rune('x'+i))] = v
	}
	return rows
}

func param(values []float32, shape ...int) nn.Param {
	return nn.Param{Name: "p", Shape: shape, Values: values}
}

// opCases has every op that ONNX holds, alone.
func opCases() []modelCase {
	var cases []modelCase
	add := func(name string, c modelCase) {
		if name != "" {
			c.name += " " + name
		}
		cases = append(cases, c)
	}
	for _, op := range []nn.Op{
		nn.OpRelu, nn.OpTanh, nn.OpSigmoid, nn.OpSoftplus, nn.OpNeg, nn.OpAbs, nn.OpExp, nn.OpLog, nn.OpLog1p, nn.OpExpm1,
		nn.OpSqrt, nn.OpSquare, nn.OpInverse, nn.OpDropNaN,
	} {
		add("", single(op, nn.Attr{}, 2, on(odd)))
	}
	other := nn.Floats(2, slices.Clone(odd.Floats)...)
	for i := range other.Floats {
		other.Floats[i] = odd.Floats[(i*5+3)%len(odd.Floats)]
	}
	column := nn.Floats(1, odd.Floats[:len(odd.Floats)/2]...)
	for _, op := range []nn.Op{nn.OpAdd, nn.OpSub, nn.OpMul, nn.OpDiv, nn.OpMaximum, nn.OpMinimum} {
		add("of two values", single(op, nn.Attr{}, 2, on(odd, other)))
		add("with a column", single(op, nn.Attr{}, 2, on(odd, column)))
		add("with a param", single(op, nn.Attr{}, 2, on(odd), param([]float32{1.5, -2}, 2)))
		add("with one number", single(op, nn.Attr{}, 2, on(odd), param([]float32{0.1}, 1)))
	}
	rows := nn.Floats(3, 1, 2, 3, -1, 0.5, 4, 30, -30, 0, 1e-3, 1000, -1000)
	add("", single(nn.OpLeakyRelu, nn.Attr{Alpha: 0.2}, 2, on(odd)))
	add("", single(nn.OpSoftmax, nn.Attr{}, 3, on(rows)))
	add("", single(nn.OpMatMul, nn.Attr{}, 2, on(rows), param([]float32{1, -1, 0.5, 2, 3, 0.25}, 3, 2)))
	add("", single(nn.OpAddBias, nn.Attr{}, 3, on(rows), param([]float32{1, -1, 0.5}, 3)))
	add("", single(nn.OpSum, nn.Attr{}, 1, on(rows)))
	add("", single(nn.OpMean, nn.Attr{}, 1, on(rows)))
	add("", single(nn.OpMax, nn.Attr{}, 1, on(rows)))
	add("", single(nn.OpSlice, nn.Attr{Start: 1, End: 3}, 2, on(rows)))
	add("of one column", single(nn.OpSlice, nn.Attr{Start: 0, End: 1}, 1, on(rows)))
	add("", single(nn.OpConcat, nn.Attr{}, 6, on(nn.Floats(2, odd.Floats[:8]...), rows, nn.Floats(1, 1, 2, 3, 4))))
	add("of one", single(nn.OpConcat, nn.Attr{}, 3, on(rows)))
	return append(cases, indexCases()...)
}

// indexCases are about integers and strings.
func indexCases() []modelCase {
	ids := nn.Ints(2, 0, 1, 2, 3, -1, 4, math.MaxInt64, math.MinInt64)
	words := nn.Strings(2, "a", "b", "", "A", "Zürich", "c", " a", "日本")
	table := param([]float32{0, 1, 2, 3, 4, 5, 6, 7}, 4, 2)
	vocabulary := nn.Attr{Vocabulary: []string{"a", "Zürich", "", "a", "日本"}, Depth: 6}
	empty := single(nn.OpVocab, nn.Attr{Depth: 1}, 2, on(words))
	empty.name += " of an empty vocabulary"
	cases := []modelCase{
		single(nn.OpCast, nn.Attr{}, 2, on(ids)),
		single(nn.OpOneHot, nn.Attr{Depth: 4}, 8, on(ids)),
		single(nn.OpClamp, nn.Attr{Depth: 4}, 2, on(ids)),
		single(nn.OpEmbed, nn.Attr{Depth: 4}, 4, on(nn.Ints(2, 0, 1, 2, 3)), table),
		single(nn.OpVocab, vocabulary, 2, on(words)), empty,
	}
	return append(cases, choiceCases(ids)...)
}

// choiceCases are about which class it is.
func choiceCases(ids nn.Value) []modelCase {
	scores := nn.Floats(3, 1, 2, 2, nan, -1, -2, nan, nan, nan, -inf, -inf, -inf, inf, 0, inf, -1e38, nan, -inf)
	// Names go back to their ids, since the check compares numbers.
	names := single(nn.OpLabel, nn.Attr{Vocabulary: []string{"no", "", "Zürich"}}, 2, on(nn.Ints(2, 0, 1, 2, 2)))
	back := nn.Attr{Vocabulary: []string{"", "Zürich", "no"}, Depth: 4}
	names.graph.Nodes = append(names.graph.Nodes, nn.Node{Name: "id", Op: nn.OpVocab, In: []string{"node"}, Attr: back})
	names.graph.Outputs[0].Node = "id"
	return []modelCase{
		single(nn.OpWithin, nn.Attr{Depth: 4, Default: 2}, 2, on(ids)),
		single(nn.OpBucket, nn.Attr{Boundaries: []float32{-1, 0, 0.5, 100}}, 2, on(odd)),
		single(nn.OpArgMax, nn.Attr{}, 1, on(scores)),
		names,
	}
}

func TestEveryOpGivesWhatNNGives(t *testing.T) {
	t.Parallel()
	runInONNXRuntime(t, opCases())
}

func TestNoOpIsForgotten(t *testing.T) {
	t.Parallel()
	tested := map[nn.Op]bool{}
	for _, c := range opCases() {
		tested[c.graph.Nodes[0].Op] = true
	}
	for _, op := range contract(t) {
		if onnx.Holds(op) != tested[op] {
			t.Errorf("op %s: can be written: %v, has a case of its own: %v", op, onnx.Holds(op), tested[op])
		}
	}
	if onnx.Holds(nn.OpHash) {
		t.Error("ONNX has no operator for FarmHash")
	}
}

// contract reads the ops off the file that declares them, so that a new one is not passed over.
func contract(t *testing.T) (ops []nn.Op) {
	t.Helper()
	source, err := os.ReadFile(filepath.Join("..", "..", "nn", "graph.go"))
	if err != nil {
		t.Fatal(err)
	}
	for _, found := range regexp.MustCompile(`Op = "(\w+)"`).FindAllSubmatch(source, -1) {
		ops = append(ops, nn.Op(found[1]))
	}
	if len(ops) < 36 {
		t.Fatalf("found %d ops", len(ops))
	}
	return ops
}
