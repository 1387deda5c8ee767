package nn

import (
	"math"

	"gorgonia.org/gorgonia"

	"github.com/stoker-ml/stoker/compute/nn/plan"
)

// Gorgonia's own softmax does not do: it takes the first number of the first row for one of each row when it looks for the row's
// maximum, so that one large logit makes other rows underflow, and log-softmax of a row may be -Inf. Seen in gorgonia.org/tensor
// v0.9.24, StdEng.softMaxLastDimF32.

// softmaxNode is softmax of each row; dx[j] = (g[j] - sum_k g[k] y[k]) y[j].
func softmaxNode(x *gorgonia.Node) (*gorgonia.Node, error) {
	o := rowOp("RowSoftmax", plan.Softmax, x.Shape()[1], func(y []float32, in [][]float32) { softmaxRow(y, in[0]) })
	return o.withSlope(rowOp("RowSoftmaxSlope", plan.SoftmaxSlope, x.Shape()[1], softmaxSlope)).apply(x)
}

// logSoftmaxNode is log softmax of each row; dx[j] = g[j] - exp(y[j]) sum_k g[k].
func logSoftmaxNode(x *gorgonia.Node) (*gorgonia.Node, error) {
	o := rowOp("RowLogSoftmax", plan.LogSoftmax, x.Shape()[1], func(y []float32, in [][]float32) { logSoftmaxRow(y, in[0]) })
	return o.withSlope(rowOp("RowLogSoftmaxSlope", plan.LogSoftmaxSlope, x.Shape()[1], logSoftmaxSlope)).apply(x)
}

// rowOp is a function of the rows of float matrices of one shape, with width columns.
func rowOp(name string, lower plan.Op, width int, row func(y []float32, in [][]float32)) *kernelOp {
	return &kernelOp{
		name: name, lower: lower, shape: shapeOfFirst,
		do: func(y []float32, in []plan.Slice) {
			rows := make([][]float32, len(in))
			for from := 0; from < len(y); from += width {
				for i := range in {
					rows[i] = in[i].Floats[from : from+width]
				}
				row(y[from:from+width], rows)
			}
		},
	}
}

// withSlope gives o, of one operand, a slope: of the result's gradient and the result.
func (o *kernelOp) withSlope(slope *kernelOp) *kernelOp {
	o.along = []bool{true}
	o.slopes = func(_ gorgonia.Nodes, y, grad *gorgonia.Node) (gorgonia.Nodes, error) {
		dx, err := slope.apply(grad, y)
		return gorgonia.Nodes{dx}, err
	}
	return o
}

func softmaxSlope(dx []float32, in [][]float32) {
	g, y, sum := in[0], in[1], 0.0
	for k := range y {
		sum += float64(g[k]) * float64(y[k])
	}
	for j := range dx {
		dx[j] = float32((float64(g[j]) - sum) * float64(y[j]))
	}
}

func logSoftmaxSlope(dx []float32, in [][]float32) {
	g, y, sum := in[0], in[1], 0.0
	for k := range g {
		sum += float64(g[k])
	}
	for j := range dx {
		dx[j] = float32(float64(g[j]) - math.Exp(float64(y[j]))*sum)
	}
}
