package nn

import (
	"fmt"

	"gorgonia.org/gorgonia"
	"gorgonia.org/tensor"

	"github.com/stoker-ml/stoker/compute/nn/plan"
)

// columnsNode is the columns of a matrix from start up to, not including, end. Gorgonia's own slices lose an axis of size 1, and
// their gradients with it.
func columnsNode(x *gorgonia.Node, start, end int) (*gorgonia.Node, error) {
	width := x.Shape()[1]
	return (&kernelOp{
		name:  fmt.Sprintf("Columns{%d, %d}", start, end),
		lower: plan.Columns, attr: plan.Attr{Start: start},
		shape: func(in []tensor.Shape) tensor.Shape { return tensor.Shape{in[0][0], end - start} },
		do: func(y []float32, in []plan.Slice) {
			for r := range len(y) / (end - start) {
				copy(y[r*(end-start):(r+1)*(end-start)], in[0].Floats[r*width+start:])
			}
		},
		slopes: func(_ gorgonia.Nodes, _, grad *gorgonia.Node) (gorgonia.Nodes, error) {
			dx, err := padNode(grad, start, width)
			return gorgonia.Nodes{dx}, err
		},
		along: []bool{true},
	}).apply(x)
}

// padNode is x in the columns from start, and 0 elsewhere, width columns in all.
func padNode(x *gorgonia.Node, start, width int) (*gorgonia.Node, error) {
	n := x.Shape()[1]
	return (&kernelOp{
		name:  fmt.Sprintf("Pad{%d, %d}", start, width),
		lower: plan.Pad, attr: plan.Attr{Start: start},
		shape: func(in []tensor.Shape) tensor.Shape { return tensor.Shape{in[0][0], width} },
		do: func(y []float32, in []plan.Slice) {
			clear(y)
			for r := range len(y) / width {
				copy(y[r*width+start:], in[0].Floats[r*n:(r+1)*n])
			}
		},
		slopes: func(_ gorgonia.Nodes, _, grad *gorgonia.Node) (gorgonia.Nodes, error) {
			dx, err := columnsNode(grad, start, start+n)
			return gorgonia.Nodes{dx}, err
		},
		along: []bool{true},
	}).apply(x)
}
