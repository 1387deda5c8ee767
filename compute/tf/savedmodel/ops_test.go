package savedmodel

import (
	"cmp"
	"math"
	"slices"
	"testing"

	"github.com/stoker-ml/stoker/compute/data/example"
	"github.com/stoker-ml/stoker/compute/nn"
	"github.com/stoker-ml/stoker/compute/tf/tftest"
)

// opRows are the rows that each op is shown: small and large numbers, both zeros, NaN and
// infinities.
const opRows = 6

var numbers = []float32{
	0.5, -2, 3.25, -0.75,
	0, float32(math.Copysign(0, -1)), 1, -1,
	1e-30, -1e-30, 88, -88,
	1e30, -1e30, 20, -20,
	float32(math.NaN()), 1, float32(math.Inf(1)), -3,
	2, float32(math.Inf(-1)), 4, float32(math.NaN()),
}

// opCases has every op of nn.Graph alone; what an op does with each shape of its second operand is
// a case of its own.
func opCases() map[string]nn.Node {
	cases := map[string]nn.Node{
		"MatMul": {Op: nn.OpMatMul, In: []string{"finite", "matrix"}}, "AddBias": {Op: nn.OpAddBias, In: []string{"x", "row"}},
		"LeakyRelu":       {Op: nn.OpLeakyRelu, In: []string{"x"}, Attr: nn.Attr{Alpha: 0.2}},
		"LeakyRelu steep": {Op: nn.OpLeakyRelu, In: []string{"x"}, Attr: nn.Attr{Alpha: 1.5}},
		"Concat":          {Op: nn.OpConcat, In: []string{"x", "y", "column"}}, "Concat of one": {Op: nn.OpConcat, In: []string{"x"}},
		"Slice": {Op: nn.OpSlice, In: []string{"x"}, Attr: nn.Attr{Start: 1, End: 3}}, "Cast": {Op: nn.OpCast, In: []string{"ids"}},
		"OneHot": {Op: nn.OpOneHot, In: []string{"ids"}, Attr: nn.Attr{Depth: 3}}, "Clamp": {Op: nn.OpClamp, In: []string{"ids"}, Attr: nn.Attr{Depth: 3}},
		"Vocab": {Op: nn.OpVocab, In: []string{"words"}, Attr: nn.Attr{Depth: 4, Vocabulary: []string{"a", "", "a b"}}},
		"Hash":  {Op: nn.OpHash, In: []string{"words"}, Attr: nn.Attr{Depth: 7}}, "Embed": {Op: nn.OpEmbed, In: []string{"places", "table"}},
		"Softmax":              {Op: nn.OpSoftmax, In: []string{"finite"}},
		"Cross":                {Op: nn.OpCross, In: []string{"words", "ids"}, Attr: nn.Attr{Depth: 1000}},
		"Cross of words alone": {Op: nn.OpCross, In: []string{"words", "words", "words"}, Attr: nn.Attr{Depth: 1000}},
	}
	for _, op := range []nn.Op{nn.OpAdd, nn.OpSub, nn.OpMul, nn.OpDiv, nn.OpMaximum, nn.OpMinimum} {
		for _, second := range []string{"y", "column", "row", "one"} {
			cases[string(op)+" and "+second] = nn.Node{Op: op, In: []string{"x", second}}
		}
	}
	for _, op := range []nn.Op{
		nn.OpRelu, nn.OpTanh, nn.OpSigmoid, nn.OpSoftplus, nn.OpNeg, nn.OpAbs, nn.OpExp, nn.OpLog, nn.OpLog1p, nn.OpExpm1, nn.OpSqrt,
		nn.OpSquare, nn.OpInverse, nn.OpSum, nn.OpMean, nn.OpMax, nn.OpDropNaN,
	} {
		cases[string(op)] = nn.Node{Op: op, In: []string{"x"}}
	}
	return cases
}

// opInputs returns the rows. y has the numbers in another order; finite has those that sums of
// products can hold.
func opInputs() map[string]nn.Value {
	x, y, finite, column := nn.Floats(4, numbers...), nn.Floats(4), nn.Floats(4), nn.Floats(1)
	words, ids, places := nn.Strings(2), nn.Ints(2), nn.Ints(2)
	for i := range numbers {
		y.Floats = append(y.Floats, numbers[(i*7+5)%len(numbers)])
		finite.Floats = append(finite.Floats, float32(i%5)-1.5)
	}
	for r := range opRows {
		column.Floats = append(column.Floats, numbers[r*5%len(numbers)])
		words.Strings = append(words.Strings, []byte([]string{"a", "", "b", "a b", "\xff", "Taxi"}[r]), []byte("a b"))
		ids.Ints = append(ids.Ints, int64(r)-1, 1<<40)
		places.Ints = append(places.Ints, int64(r%3), 2)
	}
	return map[string]nn.Value{"x": x, "y": y, "finite": finite, "column": column, "words": words, "ids": ids, "places": places}
}

// opModel returns a model of the one node, with the inputs and params that it takes.
func opModel(t *testing.T, node nn.Node, inputs map[string]nn.Value) Model {
	t.Helper()
	node.Name = "out"
	m := Model{Graph: &nn.Graph{Nodes: []nn.Node{node}}}
	params := map[string]nn.Param{
		"matrix": {Shape: []int{4, 2}, Values: []float32{1, -2, 0.5, 3, 0, 1, -1, 2}}, "table": {Shape: []int{3, 2}, Values: []float32{1, 2, 3, 4, 5, 6}},
		"row": {Shape: []int{4}, Values: []float32{0.5, -2, 0, 1e10}}, "one": {Shape: []int{1}, Values: []float32{-1.5}},
	}
	for _, name := range slices.Compact(slices.Clone(node.In)) { // a cross may take an input twice
		if v, ok := inputs[name]; ok {
			m.Graph.Inputs = append(m.Graph.Inputs, nn.Input{Name: name, Kind: v.Kind, Width: v.Width})
			m.Spec = append(m.Spec, example.Feature{Name: name, Kind: exampleKind(v.Kind), Shape: []int{v.Width}})
		} else {
			p := params[name]
			p.Name = name
			m.Graph.Params = append(m.Graph.Params, p)
		}
	}
	slices.SortFunc(m.Spec, func(a, b example.Feature) int { return cmp.Compare(a.Name, b.Name) })
	types, err := m.Graph.Types()
	if err != nil {
		t.Fatal(err)
	}
	m.Graph.Outputs = []nn.Output{{Name: "out", Node: "out", Width: types["out"].Width}}
	return m
}

func exampleKind(k nn.ValueKind) example.Kind {
	return map[nn.ValueKind]example.Kind{nn.Float32: example.Float, nn.Int64: example.Int64, nn.String: example.Bytes}[k]
}

const opsScript = `
def check(cases):
    out = {}
    for name, case in cases.items():
        loaded = tf.saved_model.load(case["model"])
        out[name] = flat(loaded.signatures["predict_tensors"](**{k: tensor(*v) for k, v in case["tensors"].items()})["out"])
        if name == "Relu":  # a session restores and saves a model without variables
            assert not loaded.variables and in_session(case["model"], "serving_default", [])["out"].shape == (0,)
            with tf.Graph().as_default(), tf.compat.v1.Session() as session:
                meta = tf.compat.v1.saved_model.load(session, ["serve"], case["model"])
                session.run(meta.saver_def.save_tensor_name, {meta.saver_def.filename_tensor_name: case["model"] + "/again"})
            assert tf.train.load_checkpoint(case["model"] + "/again").get_variable_to_shape_map()
    return out
`

// TensorFlow computes each op as nn.Eval does, NaN and infinities included: within 1e-5, relative
// where values are over 1, since both are float32 throughout and TensorFlow's exp, log and tanh are
// polynomials, off by some units of the last place.
func TestTensorFlowComputesEachOpAsGoDoes(t *testing.T) {
	t.Parallel()
	cases, want := map[string]any{}, outputs{}
	for name, node := range opCases() {
		inputs := opInputs()
		m := opModel(t, node, inputs)
		used := map[string]nn.Value{}
		for _, in := range m.Graph.Inputs {
			used[in.Name] = inputs[in.Name]
		}
		cases[name] = map[string]any{"model": writeTemp(t, m), "tensors": asTensors(used)}
		want[name] = evaluated(t, m.Graph, used)["out"]
	}
	var got outputs
	tftest.Run(t, predictScript+opsScript, cases, &got)
	near(t, "predict_tensors", got, want)
}
