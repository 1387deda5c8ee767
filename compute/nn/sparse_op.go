package nn

import (
	"fmt"

	"gorgonia.org/gorgonia"
	"gorgonia.org/tensor"

	"github.com/stoker-ml/stoker/compute/kernel"
	"github.com/stoker-ml/stoker/compute/nn/plan"
)

// sparseNode is y[r,:] = sum_p values[r,p] w[ids[r,p],:]: the product of a matrix that is nearly all zeros with w, where ids [b*places]
// say in which columns values [b,places] stand. An id below 0 counts as nothing. There is a slope along w alone.
func sparseNode(values, ids, w *gorgonia.Node) (*gorgonia.Node, error) {
	places, width := values.Shape()[1], w.Shape()[1]
	return (&kernelOp{
		name: "SparseProduct", lower: plan.Sparse,
		shape: func(in []tensor.Shape) tensor.Shape { return tensor.Shape{in[0][0], width} },
		do: func(y []float32, in []plan.Slice) {
			alone.SparseGemm(y, in[0].Floats, in[1].Ints, in[2].Floats, len(y)/width, places, width)
		},
		slopes: func(in gorgonia.Nodes, _, grad *gorgonia.Node) (gorgonia.Nodes, error) {
			dw, err := sparseSlopeNode(values, ids, grad, in[2].Shape()[0])
			return gorgonia.Nodes{nil, nil, dw}, err
		},
		along: []bool{false, false, true},
	}).apply(values, ids, w)
}

// sparseSlopeNode is dw[ids[r,p],:] += values[r,p] dy[r,:], with so many rows.
func sparseSlopeNode(values, ids, dy *gorgonia.Node, rows int) (*gorgonia.Node, error) {
	places, width := values.Shape()[1], dy.Shape()[1]
	return (&kernelOp{
		name: fmt.Sprintf("SparseProductSlope{%d}", rows), lower: plan.SparseSlope,
		shape: func([]tensor.Shape) tensor.Shape { return tensor.Shape{rows, width} },
		do: func(dw []float32, in []plan.Slice) {
			clear(dw)
			alone.SparseGemmSlope(dw, in[0].Floats, in[1].Ints, in[2].Floats, len(in[2].Floats)/width, places, width)
		},
	}).apply(values, ids, dy)
}

// alone is the caller's thread.
var alone *kernel.Team
