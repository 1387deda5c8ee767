package tflite_test

import (
	"fmt"
	"os"
	"path/filepath"

	"github.com/stoker-ml/stoker/compute/export/tflite"
	"github.com/stoker-ml/stoker/compute/nn"
)

// A linear model of one feature, y = 2x + 1, written and described.
func Example() {
	dir, err := os.MkdirTemp("", "")
	if err != nil {
		panic(err)
	}
	defer os.RemoveAll(dir)
	path := filepath.Join(dir, "model.tflite")

	err = tflite.Write(path, &nn.Graph{
		Inputs: []nn.Input{{Name: "x", Width: 1}},
		Nodes: []nn.Node{
			{Name: "product", Op: nn.OpMatMul, In: []string{"x", "kernel"}},
			{Name: "sum", Op: nn.OpAddBias, In: []string{"product", "bias"}},
		},
		Params: []nn.Param{
			{Name: "kernel", Shape: []int{1, 1}, Values: []float32{2}}, {Name: "bias", Shape: []int{1}, Values: []float32{1}},
		},
		Outputs: []nn.Output{{Name: "y", Node: "sum", Width: 1}},
	}, tflite.Options{})
	if err != nil {
		panic(err)
	}

	d, err := tflite.Describe(path)
	fmt.Println(d.Inputs[0].Name, d.Inputs[0].Shape, d.Outputs[0].Name, d.Ops, err)
	// Output: x [-1 1] y map[FULLY_CONNECTED:1] <nil>
}
