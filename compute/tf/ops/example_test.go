package ops_test

import (
	"context"
	"fmt"

	nodepb "github.com/wamuir/graft/tensorflow/core/framework/node_def_go_proto"

	"github.com/stoker-ml/stoker/compute/tf/ops"
	"github.com/stoker-ml/stoker/compute/tf/tensor"
)

// An op is found by TensorFlow's name, built for the types of a node, and run on tensors. The
// second tensor is broadcast over the rows of the first.
func Example() {
	add, known := ops.Find("AddV2")
	if !known {
		fmt.Println("unknown op")
		return
	}
	node := &ops.Node{
		Def:   &nodepb.NodeDef{Name: "sum", Op: "AddV2"},
		In:    []tensor.DType{tensor.Float32, tensor.Float32},
		Fixed: make([]ops.Value, 2),
	}
	kernel, err := add.Build(node)
	if err != nil {
		fmt.Println(err)
		return
	}
	rows, err := tensor.New([]int{2, 2}, []float32{1, 2, 3, 4})
	if err != nil {
		fmt.Println(err)
		return
	}
	call := &ops.Call{
		In: []ops.Value{rows, tensor.Vector[float32](10, 20)}, Out: make([]ops.Value, 1), Most: tensor.MaxElements,
		Budget: ops.NewBudget(context.Background(), 1<<20, 100),
	}
	if err := ops.Do(kernel, call); err != nil {
		fmt.Println(err)
		return
	}
	sum := call.Out[0].(*tensor.Array[float32])
	fmt.Println(node.Out, sum.Dims, sum.Data)
	// Output: [DT_FLOAT] [2 2] [11 22 13 24]
}

// A graph that asks for more memory than its execution may have gets an error before any is
// allocated.
func ExampleBudget() {
	budget := ops.NewBudget(context.Background(), 1<<10, 100)
	fmt.Println(budget.Charge(1000), budget.Held())
	fmt.Println(budget.Charge(1000))
	budget.Release(1000)
	fmt.Println(budget.Charge(1000))
	// Output:
	// <nil> 1000
	// asks for 1000 bytes; with the 1000 held that is more than the 1024 allowed (limit of the execution)
	// <nil>
}
