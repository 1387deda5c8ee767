package tflite_test

import (
	"maps"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/stoker-ml/stoker/compute/export/tflite"
	"github.com/stoker-ml/stoker/compute/nn"
)

// An output may be called as another node is, two may be the same node, one may be an input itself;
// nodes that look like a layer are none if another node uses the value between them.
func TestOutputsMayBeAnything(t *testing.T) {
	t.Parallel()
	g := &nn.Graph{
		Inputs: []nn.Input{{Name: "x", Width: 2}},
		Params: []nn.Param{
			{Name: "kernel", Shape: []int{2, 2}, Values: []float32{1, 2, -3, 4}},
			{Name: "bias", Shape: []int{2}, Values: []float32{1, -2}},
		},
		Nodes: []nn.Node{
			{Name: "a", Op: nn.OpMatMul, In: []string{"x", "kernel"}},
			{Name: "b", Op: nn.OpAdd, In: []string{"a", "bias"}},
			{Name: "c", Op: nn.OpRelu, In: []string{"b"}},
			{Name: "d", Op: nn.OpMatMul, In: []string{"c", "kernel"}},
			{Name: "e", Op: nn.OpAddBias, In: []string{"d", "bias"}},
		},
		Outputs: []nn.Output{
			{Name: "a", Node: "c", Width: 2}, {Name: "kernel", Node: "a", Width: 2}, {Name: "same", Node: "c", Width: 2},
			{Name: "x", Node: "x", Width: 2}, {Name: "a/b c", Node: "e", Width: 2}, {Name: "e", Node: "b", Width: 2},
		},
	}
	in := map[string]nn.Value{"x": nn.Floats(2, 1, -3, 0.5, 7, -1, -1)}
	want, err := nn.Eval(g, in)
	if err != nil {
		t.Fatal(err)
	}
	for _, got := range runAll(t, []call{{Model: written(t, g, tflite.Options{}), Inputs: arrays(in)}}) {
		// Products of small whole numbers and halves, which are usually exact.
		checkClose(t, got, want, 1e-6)
	}
}

// ones returns a graph of one layer whose kernel and bias are these.
func ones(kernel, bias []float32) *nn.Graph {
	n := len(bias)
	return &nn.Graph{
		Inputs: []nn.Input{{Name: "x", Width: len(kernel) / n}},
		Params: []nn.Param{
			{Name: "kernel", Shape: []int{len(kernel) / n, n}, Values: kernel}, {Name: "bias", Shape: []int{n}, Values: bias},
		},
		Nodes: []nn.Node{
			{Name: "a", Op: nn.OpMatMul, In: []string{"x", "kernel"}}, {Name: "y", Op: nn.OpAddBias, In: []string{"a", "bias"}},
		},
		Outputs: []nn.Output{{Name: "out", Node: "y", Width: n}},
	}
}

// A column of zeros, one whose bias is a million times its weights, and a weight that half
// precision would make infinite, come out as they are. Tolerances: a step of 256 for int8, 2^-11
// for what is kept in half precision.
func TestOddWeightsAreKept(t *testing.T) {
	t.Parallel()
	in := map[string]nn.Value{"x": nn.Floats(2, 1, -3, 0.5, 1, -1, -1)}
	eight, half := tflite.Options{Quantization: tflite.Int8, Samples: in}, tflite.Options{Quantization: tflite.Float16}
	var calls []call
	var checks []func(map[string]answer)
	cases := map[string]struct {
		kernel, bias []float32
		o            tflite.Options
	}{
		"a column of zeros":   {[]float32{1, 0, 2, 0}, []float32{0.5, 2}, eight},
		"all zeros":           {[]float32{0, 0, 0, 0}, []float32{0, 0}, eight},
		"a bias beyond":       {[]float32{1e-9, 0, 0, 3}, []float32{3, 2}, eight},
		"beyond half":         {[]float32{1e5, 0, 0, 3}, []float32{3, 2}, half},
		"nearly nothing":      {[]float32{1e-40, 0, 0, 1e-39}, []float32{0, 1}, eight},
		"infinite, unrounded": {[]float32{inf, 1, 1, 1}, []float32{0, 1}, half},
	}
	for _, name := range slices.Sorted(maps.Keys(cases)) {
		c := cases[name]
		g := ones(c.kernel, c.bias)
		want, err := nn.Eval(g, in)
		if err != nil {
			t.Fatal(err)
		}
		calls = append(calls, call{Model: written(t, g, c.o), Inputs: arrays(in)})
		checks = append(checks, func(got map[string]answer) {
			t.Run(name, func(t *testing.T) {
				if c.o.Quantization == tflite.Int8 {
					checkSteps(t, got, want["out"], 2)
				} else {
					checkClose(t, got, want, 1./2048)
				}
			})
		})
	}
	for i, got := range runAll(t, calls) {
		checks[i](got)
	}
}

func TestWhatCantBeWrittenIsNamed(t *testing.T) {
	t.Parallel()
	one := []float32{1}
	sample := map[string]nn.Value{"x": nn.Floats(1, 1)}
	words := &nn.Graph{
		Inputs:  []nn.Input{{Name: "word", Kind: nn.String, Width: 1}},
		Nodes:   []nn.Node{{Name: "id", Op: nn.OpHash, In: []string{"word"}, Attr: nn.Attr{Depth: 3}}},
		Outputs: []nn.Output{{Name: "id", Node: "id", Width: 1}},
	}
	unknown := ones(one, one)
	unknown.Nodes[1].Op = "Wobble"
	for _, c := range []struct {
		want string
		g    *nn.Graph
		o    tflite.Options
	}{
		{`input "word": the format can't hold strings`, words, tflite.Options{}},
		{`node "y", Wobble`, unknown, tflite.Options{}},
		{`sample rows for int8: input "x" is missing`, ones(one, one), tflite.Options{Quantization: tflite.Int8}},
		{`int8 needs sample rows, there are none`, ones(one, one),
			tflite.Options{Quantization: tflite.Int8, Samples: map[string]nn.Value{"x": nn.Floats(1)}}},
		{`node "a", MatMul: "x" has no finite number in any sample row`, ones(one, one),
			tflite.Options{Quantization: tflite.Int8, Samples: map[string]nn.Value{"x": nn.Floats(1, nan, inf)}}},
		{`param "kernel": its number 1 is NaN, which int8 can't hold`, ones([]float32{1, nan}, one),
			tflite.Options{Quantization: tflite.Int8, Samples: sample}},
		{`param "bias": its number 0 is -Inf, which int8 can't hold`, ones(one, []float32{float32(math.Inf(-1))}),
			tflite.Options{Quantization: tflite.DynamicInt8}},
		{`int8 inputs and outputs are for models in int8`, ones(one, one), tflite.Options{IntegerIO: true}},
	} {
		path := filepath.Join(t.TempDir(), "m.tflite")
		if err := tflite.Write(path, c.g, c.o); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("error is %v, want %s", err, c.want)
		}
		if _, err := os.Stat(path); err == nil {
			t.Errorf("%s: a file was left", c.want)
		}
	}
}

func TestStringsAreNotHeld(t *testing.T) {
	t.Parallel()
	for _, op := range []nn.Op{nn.OpVocab, nn.OpHash, "Wobble"} {
		if tflite.Holds(op) {
			t.Errorf("%s is held", op)
		}
	}
	for _, c := range opCases() {
		if !tflite.Holds(c.node.Op) {
			t.Errorf("%s is not held", c.node.Op)
		}
	}
}
