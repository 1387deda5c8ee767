package export_test

import (
	"context"
	"fmt"
	"os"
	"path/filepath"

	"gorgonia.org/gorgonia"
	"gorgonia.org/tensor"

	"github.com/stoker-ml/stoker/compute/data/example"
	"github.com/stoker-ml/stoker/compute/export"
	"github.com/stoker-ml/stoker/compute/nn/autodiff"
	"github.com/stoker-ml/stoker/compute/tf/savedmodel"
)

// A model written with Gorgonia, whose weights have their values by now, becomes a SavedModel, a
// TFLite file and an ONNX file.
func Example() {
	g := gorgonia.NewGraph()
	weights := tensor.New(tensor.WithShape(2, 1), tensor.WithBacking([]float32{0.5, -2}))
	x := gorgonia.NewMatrix(g, tensor.Float32, gorgonia.WithShape(8, 2), gorgonia.WithName("x"))
	w := gorgonia.NewMatrix(g, tensor.Float32, gorgonia.WithShape(2, 1), gorgonia.WithName("w"), gorgonia.WithValue(weights))
	y := gorgonia.Must(gorgonia.Sigmoid(gorgonia.Must(gorgonia.Mul(x, w))))

	graph, err := autodiff.FromGorgonia(gorgonia.Nodes{x}, map[string]*gorgonia.Node{"y": y})
	if err != nil {
		fmt.Println(err)
		return
	}
	dir, err := os.MkdirTemp("", "model-")
	if err != nil {
		fmt.Println(err)
		return
	}
	defer os.RemoveAll(dir)
	model := export.Model{Model: savedmodel.Model{
		// How tf.Examples are parsed.
		Graph: graph, Spec: example.Spec{{Name: "x", Kind: example.Float, Shape: []int{2}}},
	}}
	targets := export.Targets{Serving: filepath.Join(dir, "Format-Serving"), Formats: []string{"tflite", "onnx"}}
	if err := export.Write(context.Background(), targets, model); err != nil {
		fmt.Println(err)
		return
	}
	files, _ := filepath.Glob(filepath.Join(dir, "*", "*model*"))
	for _, file := range files {
		name, _ := filepath.Rel(dir, file)
		fmt.Println(name)
	}
	// Output:
	// Format-ONNX/model.onnx
	// Format-Serving/saved_model.pb
	// Format-TFLite/model.tflite
}
