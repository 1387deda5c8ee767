package savedmodel_test

import (
	"fmt"
	"os"
	"path/filepath"

	"github.com/stoker-ml/stoker/compute/data/example"
	"github.com/stoker-ml/stoker/compute/nn"
	"github.com/stoker-ml/stoker/compute/tf/savedmodel"
	"github.com/stoker-ml/stoker/compute/tf/tensorbundle"
)

// A linear model of one feature, y = 2x + 1, written and its weights read back.
func Example() {
	tmp, err := os.MkdirTemp("", "")
	if err != nil {
		panic(err)
	}
	defer os.RemoveAll(tmp)
	dir := filepath.Join(tmp, "model")

	err = savedmodel.Write(dir, savedmodel.Model{
		Graph: &nn.Graph{
			Inputs: []nn.Input{{Name: "x", Kind: nn.Float32, Width: 1}},
			Nodes: []nn.Node{
				{Name: "product", Op: nn.OpMatMul, In: []string{"x", "dense/kernel"}},
				{Name: "y", Op: nn.OpAddBias, In: []string{"product", "dense/bias"}},
			},
			Params: []nn.Param{
				{Name: "dense/kernel", Shape: []int{1, 1}, Values: []float32{2}, Trainable: true},
				{Name: "dense/bias", Shape: []int{1}, Values: []float32{1}, Trainable: true},
			},
			Outputs: []nn.Output{{Name: "y", Node: "y", Width: 1}},
		},
		Spec: example.Spec{{Name: "x", Kind: example.Float, Shape: []int{1}}},
	})
	if err != nil {
		panic(err)
	}

	weights, err := tensorbundle.Open(filepath.Join(dir, "variables", "variables"))
	if err != nil {
		panic(err)
	}
	kernel, _, err := weights.Numbers("dense/kernel/.ATTRIBUTES/VARIABLE_VALUE")
	fmt.Println(kernel, err)
	// Output: [2] <nil>
}

// A directory is checked before it is served.
func ExampleCheck() {
	fmt.Println(savedmodel.Check("testdata/penguin/model"))
	fmt.Println(savedmodel.Check("testdata/penguin/transform_graph") != nil)
	// Output:
	// <nil>
	// true
}

// A feature that is a reserved word of Python is passed under another name.
func ExampleKeyword() {
	fmt.Println(savedmodel.Keyword("fare"), savedmodel.Keyword("class"))
	// Output: fare class_
}
