package onnx_test

import (
	"fmt"
	"os"
	"path/filepath"

	"github.com/stoker-ml/stoker/compute/export/onnx"
	"github.com/stoker-ml/stoker/compute/nn"
)

// A linear model of one feature, y = 2x + 1, written and described.
func Example() {
	dir, err := os.MkdirTemp("", "model-")
	if err != nil {
		panic(err)
	}
	defer os.RemoveAll(dir)
	path := filepath.Join(dir, "model.onnx")

	err = onnx.Write(path, &nn.Graph{
		Inputs: []nn.Input{{Name: "x", Width: 1}},
		Nodes: []nn.Node{
			{Name: "product", Op: nn.OpMatMul, In: []string{"x", "kernel"}},
			{Name: "sum", Op: nn.OpAddBias, In: []string{"product", "bias"}},
		},
		Params: []nn.Param{
			{Name: "kernel", Shape: []int{1, 1}, Values: []float32{2}}, {Name: "bias", Shape: []int{1}, Values: []float32{1}},
		},
		Outputs: []nn.Output{{Name: "y", Node: "sum", Width: 1}},
	}, nil)
	if err != nil {
		panic(err)
	}

	d, err := onnx.Describe(path)
	fmt.Println(d.Inputs[0].Name, d.Inputs[0].Shape, d.Outputs[0].Name, d.Ops, err)
	// Output: x [batch 1] y map[Add:1 MatMul:1] <nil>
}

// A hash of strings has no operator in ONNX: what computes it stays with the caller.
func ExampleHolds() {
	fmt.Println(onnx.Holds(nn.OpMatMul), onnx.Holds(nn.OpHash))
	// Output: true false
}
