package tflite_test

import (
	_ "embed"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/stoker-ml/stoker/compute/export/tflite"
	"github.com/stoker-ml/stoker/compute/nn"
	"github.com/stoker-ml/stoker/compute/tf/tftest"
)

//go:embed testdata/integer.py
var integerScript string

// behindMatrix returns the op over x, y and z as a layer gives them, each through a matrix of its
// own, so that it is computed in 8 bits.
func behindMatrix(c opCase) *nn.Graph {
	g := c.graph()
	r := rand.New(rand.NewPCG(7, 7))
	var nodes []nn.Node
	for i, in := range g.Inputs {
		if in.Kind != nn.Float32 {
			continue
		}
		w := nn.Param{Name: in.Name + "/kernel", Shape: []int{in.Width, in.Width}}
		for range in.Width * in.Width {
			w.Values = append(w.Values, float32(r.NormFloat64()*0.15))
		}
		g.Params = append(g.Params, w)
		g.Inputs[i].Name = in.Name + "_in"
		nodes = append(nodes, nn.Node{Name: in.Name, Op: nn.OpMatMul, In: []string{in.Name + "_in", w.Name}})
		if c.feed != nil { // into the range of the op
			nodes[len(nodes)-1].Name += "/any"
			nodes = append(nodes, nn.Node{Name: in.Name + "/square", Op: nn.OpSquare, In: []string{in.Name + "/any"}},
				nn.Node{Name: in.Name, Op: nn.OpAdd, In: []string{in.Name + "/square", "four"}})
			g.Params = append(g.Params, nn.Param{Name: "four", Shape: []int{1}, Values: []float32{4}})
		}
	}
	g.Nodes = append(nodes, g.Nodes...)
	return g
}

// Every op after a layer has the same outputs in int8 as in Go, except for rounding to steps: 256
// steps represent the range of each value. Tolerance: 6 steps of the result, one for its own
// rounding, the others for those of its operands, which Log, Inverse and Div make larger. Left out
// is what makes any number of a step: divisors that come near 0, and choices between what is nearly
// equal.
func TestEachOpAnswersInInt8AsInGo(t *testing.T) {
	t.Parallel()
	var calls []call
	var checks []func(map[string]answer)
	for _, c := range opCases() {
		if slices.Contains([]string{"Div of y", "Div of z", "Bucket", "ArgMax"}, c.name) {
			continue
		}
		g := behindMatrix(c)
		c.odd, c.feed = nil, nil
		in := c.rows(g, 64, rand.New(rand.NewPCG(3, 64)))
		want, err := nn.Eval(g, in)
		if err != nil {
			t.Fatalf("%s: %v", c.name, err)
		}
		// The reference kernel of SUM in int8 fails on files of TensorFlow's converter too.
		flawed := c.name == "Sum"
		file := written(t, g, tflite.Options{Quantization: tflite.Int8, Samples: in})
		calls = append(calls, call{Model: file, Inputs: arrays(in)})
		checks = append(checks, func(got map[string]answer) {
			if flawed {
				delete(got, "reference kernels")
			}
			t.Run(c.name, func(t *testing.T) { checkSteps(t, got, want["out"], 6) })
		})
	}
	for i, got := range runAllLive(t, calls) {
		checks[i](got)
	}
}

// checkSteps allows for some of the 256 steps into which the range of want is divided.
func checkSteps(t *testing.T, got map[string]answer, want nn.Value, steps float64) {
	t.Helper()
	low, high := 0.0, 0.0
	for _, w := range want.Floats {
		low, high = math.Min(low, float64(w)), math.Max(high, float64(w))
	}
	step := max(high-low, 1e-6) / 255
	if len(got) == 0 {
		t.Error("no runtime answered")
	}
	for runtime, outputs := range got {
		if want.Kind != nn.Float32 {
			checkOutput(t, runtime, outputs["out"], want, 0)
			continue
		}
		worst := 0.0
		for i, x := range outputs["out"].floats() {
			worst = math.Max(worst, math.Abs(float64(x-want.Floats[i]))/step)
		}
		if !(worst <= steps) || len(outputs["out"].Data) != 4*len(want.Floats) {
			t.Errorf("%s: %.1f steps apart, want %v at most", runtime, worst, steps)
		}
	}
}

// An integer file takes and gives int8: callers round and read them by the scales in the file.
func TestAnIntegerFileTakesAndGivesInt8(t *testing.T) {
	t.Parallel()
	b := nn.NewBuilder(nn.NewRand(3))
	b.Output("y", b.Dense("two", b.Dense("one", b.Input("x", nn.Float32, 4), 8, nn.OpRelu), 2, ""))
	b.Output("positive", b.Activation("sigmoid", nn.Ref{Name: "two/AddBias", Type: nn.Type{Width: 2}}, nn.OpSigmoid))
	g, err := b.Graph()
	if err != nil {
		t.Fatal(err)
	}
	r := rand.New(rand.NewPCG(1, 1))
	x := nn.Floats(4)
	for range 4 * 100 {
		x.Floats = append(x.Floats, 4*r.Float32()-2)
	}
	in := map[string]nn.Value{"x": x}
	want, err := nn.Eval(g, in)
	if err != nil {
		t.Fatal(err)
	}
	file := written(t, g, tflite.Options{Quantization: tflite.Int8, Samples: in, IntegerIO: true})
	var got struct {
		Types   []string
		Ops     []string
		Outputs answer
	}
	tftest.Run(t, integerScript, call{Model: file, Inputs: arrays(in)}, &got)
	if types := strings.Join(got.Types, " "); types != "int8 int8 int8" {
		t.Errorf("inputs and outputs are %s", types)
	}
	if ops := strings.Join(got.Ops, " "); ops != "FULLY_CONNECTED FULLY_CONNECTED LOGISTIC" {
		t.Errorf("operators are %s: nothing in float32 was expected", ops)
	}
	for name, w := range want { // 3 steps: one of each layer
		checkSteps(t, map[string]answer{"LiteRT": {"out": got.Outputs[name]}}, w, 3)
	}
}
