package graph_test

import (
	"context"
	"fmt"

	"github.com/stoker-ml/stoker/compute/data/example"
	"github.com/stoker-ml/stoker/compute/tf/graph"
	"github.com/stoker-ml/stoker/compute/tf/ops"
	"github.com/stoker-ml/stoker/compute/tf/tensor"
)

// A signature of a SavedModel that TFX's Trainer wrote is compiled and run, within limits.
func Example() {
	ctx := context.Background()
	model, err := graph.Open("../savedmodel/testdata/penguin/model")
	if err != nil {
		fmt.Println(err)
		return
	}
	signatures, err := model.Signatures()
	if err != nil {
		fmt.Println(err)
		return
	}
	serving, err := graph.Find(signatures, "")
	if err != nil {
		fmt.Println(err)
		return
	}
	session, err := model.Start(ctx, graph.Limits{Bytes: 64 << 20})
	if err != nil {
		fmt.Println(err)
		return
	}
	program, err := session.Compile(ctx, serving, "output")
	if err != nil {
		fmt.Println(err)
		return
	}
	var b example.Builder
	row := b.Float("body_mass_g", 0.25).Float("culmen_depth_mm", 0.6).Float("culmen_length_mm", 0.3).Float("flipper_length_mm", 0.2).Build()
	frame := program.Frame()
	defer frame.Release()
	frame.Args = []ops.Value{tensor.Vector(string(row))}
	if err := frame.Run(ctx); err != nil {
		fmt.Println(err)
		return
	}
	logits, _ := tensor.Values[float32](frame.Result(0))
	fmt.Printf("%s: %.3f\n", serving.Name, logits)
	// Output: serving_default: [2.463 -0.465 -3.396]
}

// A graph is a program. Before TensorFlow executes it, its ops are checked.
func ExampleModel_CheckOps() {
	model, err := graph.Open("../savedmodel/testdata/penguin/model")
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(model.CheckOps(graph.Policy{}))
	// Output: <nil>
}
