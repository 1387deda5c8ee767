package autodiff

import (
	"fmt"
	"math"

	"gorgonia.org/gorgonia"
	"gorgonia.org/tensor"

	"github.com/stoker-ml/stoker/compute/nn"
	"github.com/stoker-ml/stoker/compute/nn/plan"
)

// combine writes an op on two operands.
func (l *lowering) combine(op nn.Op, x, y *gorgonia.Node) *gorgonia.Node {
	axes := l.narrow(y, x)
	if f := broadcast(op); f != nil && len(axes) > 0 {
		return l.run(func() (*gorgonia.Node, error) { return f(x, y, nil, axes) })
	}
	y = l.spread(y, x, axes)
	switch op {
	case nn.OpAdd, nn.OpAddBias:
		return l.of2(gorgonia.Add, x, y)
	case nn.OpSub:
		return l.of2(gorgonia.Sub, x, y)
	case nn.OpMul:
		return l.of2(gorgonia.HadamardProd, x, y)
	case nn.OpDiv:
		return l.of2(gorgonia.HadamardDiv, x, y)
	case nn.OpMaximum:
		return l.choose(gorgonia.Gte, x, y)
	default:
		return l.choose(gorgonia.Lte, x, y)
	}
}

// choose is x where compare holds, else y. The slope goes to the chosen one, to x if they are
// equal, as in TensorFlow.
func (l *lowering) choose(compare func(a, b *gorgonia.Node, same bool) (*gorgonia.Node, error), x, y *gorgonia.Node) *gorgonia.Node {
	first := l.run(func() (*gorgonia.Node, error) { return compare(x, y, true) })
	other := l.of2(gorgonia.Sub, gorgonia.NewConstant(float32(1)), first)
	return l.of2(gorgonia.Add, l.of2(gorgonia.HadamardProd, x, first), l.of2(gorgonia.HadamardProd, y, other))
}

// narrow returns the axes along which y has to be repeated to have the shape of x.
func (l *lowering) narrow(y, x *gorgonia.Node) []byte {
	var axes []byte
	if l.err != nil {
		return nil
	}
	for axis, size := range x.Shape() {
		if y.Shape()[axis] != size {
			axes = append(axes, byte(axis))
		}
	}
	return axes
}

// spread repeats y along axes.
func (l *lowering) spread(y, x *gorgonia.Node, axes []byte) *gorgonia.Node {
	if l.err != nil || len(axes) == 0 {
		return y
	}
	ones := l.ones(x.Shape())
	return l.run(func() (*gorgonia.Node, error) { return gorgonia.BroadcastHadamardProd(ones, y, nil, axes) })
}

// elementwise writes an op on each element alone; nil for other ops.
func (l *lowering) elementwise(n *nn.Node, x *gorgonia.Node) *gorgonia.Node {
	switch n.Op {
	case nn.OpRelu:
		return l.leakyRelu(x, 0)
	case nn.OpLeakyRelu:
		return l.leakyRelu(x, n.Attr.Alpha)
	case nn.OpSigmoid:
		return l.of(gorgonia.Sigmoid, x)
	case nn.OpSoftplus:
		return l.of(gorgonia.Softplus, x)
	case nn.OpTanh:
		return l.of(gorgonia.Tanh, x)
	case nn.OpNeg:
		return l.of(gorgonia.Neg, x)
	case nn.OpAbs:
		return l.of(gorgonia.Abs, x)
	case nn.OpExp:
		return l.of(gorgonia.Exp, x)
	case nn.OpLog:
		return l.of(gorgonia.Log, x)
	case nn.OpLog1p:
		return l.of(gorgonia.Log1p, x)
	case nn.OpExpm1:
		return l.of(gorgonia.Expm1, x)
	case nn.OpSqrt:
		return l.of(gorgonia.Sqrt, x)
	case nn.OpSquare:
		return l.of(gorgonia.Square, x)
	case nn.OpInverse:
		return l.of(gorgonia.Inverse, x)
	}
	return nil
}

// leakyRelu is x where x > 0, else alpha x. Unlike gorgonia.Rectify's its slope at 0 is alpha, as
// in TensorFlow.
func (l *lowering) leakyRelu(x *gorgonia.Node, alpha float32) *gorgonia.Node {
	mask := l.run(func() (*gorgonia.Node, error) { return gorgonia.Gt(x, gorgonia.NewConstant(float32(0)), true) })
	if alpha != 0 {
		mask = l.of2(gorgonia.Add, l.of2(gorgonia.HadamardProd, mask, gorgonia.NewConstant(1-alpha)), gorgonia.NewConstant(alpha))
	}
	return l.of2(gorgonia.HadamardProd, x, mask)
}

// reduce writes an op that makes one number of a row, as a column [b,1].
func (l *lowering) reduce(op nn.Op, x *gorgonia.Node) *gorgonia.Node {
	if l.err != nil {
		return nil
	}
	width := x.Shape()[1]
	switch op {
	case nn.OpMax:
		return l.rowMax(x, width)
	case nn.OpMean:
		return l.of2(gorgonia.HadamardProd, l.rowSum(x, width), gorgonia.NewConstant(1/float32(width)))
	}
	return l.rowSum(x, width)
}

// rowSum is x times a column of ones, because the gradient of Gorgonia's Sum along an axis is wrong
// for a matrix of one row.
func (l *lowering) rowSum(x *gorgonia.Node, width int) *gorgonia.Node {
	return l.of2(gorgonia.Mul, x, l.ones(tensor.Shape{width, 1}))
}

// rowMax is the maximum of the columns, one after another, so that the slope goes to one of equal
// ones.
func (l *lowering) rowMax(x *gorgonia.Node, width int) *gorgonia.Node {
	m := l.slice(x, 0, 1)
	for j := 1; j < width; j++ {
		m = l.choose(gorgonia.Gte, m, l.slice(x, j, j+1))
	}
	return m
}

// slice writes the columns of x from start.
func (l *lowering) slice(x *gorgonia.Node, start, end int) *gorgonia.Node {
	return l.run(func() (*gorgonia.Node, error) { return columnsNode(x, start, end) })
}

// rows returns some rows of a matrix, as columns of all its numbers in one row.
func (l *lowering) rows(x *gorgonia.Node, start, end int) *gorgonia.Node {
	if l.err != nil {
		return nil
	}
	width := x.Shape()[1]
	flat := l.reshape(x, 1, x.Shape().TotalSize())
	return l.reshape(l.slice(flat, start*width, end*width), end-start, width)
}

func (l *lowering) reshape(x *gorgonia.Node, rows, cols int) *gorgonia.Node {
	return l.run(func() (*gorgonia.Node, error) { return gorgonia.Reshape(x, tensor.Shape{rows, cols}) })
}

// constant returns a matrix that training does not change.
func (l *lowering) constant(shape tensor.Shape, values []float32) *gorgonia.Node {
	l.constants++
	return gorgonia.NewMatrix(l.expr, tensor.Float32, gorgonia.WithName(fmt.Sprintf("constant %d", l.constants)),
		gorgonia.WithValue(tensor.New(tensor.WithShape(shape...), tensor.WithBacking(values))))
}

func (l *lowering) ones(shape tensor.Shape) *gorgonia.Node {
	values := make([]float32, shape.TotalSize())
	for i := range values {
		values[i] = 1
	}
	return l.constant(shape, values)
}

// embed returns the rows of table [depth,d] that ids [b*w] name, as [b, w*d].
func (l *lowering) embed(ids, table *gorgonia.Node) *gorgonia.Node {
	rows := l.run(func() (*gorgonia.Node, error) { return gorgonia.ByIndices(table, ids, 0) })
	shape := tensor.Shape{l.batch, ids.Shape()[0] / l.batch * table.Shape()[1]}
	return l.run(func() (*gorgonia.Node, error) { return gorgonia.Reshape(rows, shape) })
}

// dropout is x times a mask that is drawn anew in each step.
func (l *lowering) dropout(n *nn.Node, x *gorgonia.Node) *gorgonia.Node {
	mask := l.run(func() (*gorgonia.Node, error) { return maskNode(x, n.Attr, l.step) })
	return l.of2(gorgonia.HadamardProd, x, mask)
}

// maskNode is the mask of a Dropout at a step, which is read when the mask is drawn. It has the
// shape of x, and does not depend on x otherwise: it has no slope.
func maskNode(x *gorgonia.Node, a nn.Attr, step *uint64) (*gorgonia.Node, error) {
	return (&kernelOp{
		name:  fmt.Sprintf("Mask{%g, %d, %d}", a.Rate, a.Seed, a.Stream),
		lower: plan.Dropout, attr: plan.Attr{Rate: a.Rate, Seed: a.Seed, Stream: a.Stream},
		shape: shapeOfFirst,
		do:    func(mask []float32, _ []plan.Slice) { alone.Dropout(mask, a.Rate, a.Seed, a.Stream, *step) },
	}).apply(x)
}

// standardize is (x - mean) / sqrt(variance + epsilon), with the statistics of the real rows: share
// is one row with one number for each row of x, 1 over the number of real rows, and 0 for rows that
// pad the batch.
func (l *lowering) standardize(n *nn.Node, x *gorgonia.Node) *gorgonia.Node {
	mean := l.of2(gorgonia.Mul, l.rowShare(), x)
	centered := l.combine(nn.OpSub, x, mean)
	variance := l.of2(gorgonia.Mul, l.rowShare(), l.of(gorgonia.Square, centered))
	deviation := l.of(gorgonia.Sqrt, l.of2(gorgonia.Add, variance, gorgonia.NewConstant(float32(n.Attr.Epsilon))))
	if l.err == nil {
		l.averages = append(l.averages, newAverage(n, l.params, mean, variance))
	}
	return l.combine(nn.OpDiv, centered, deviation)
}

// rowShare returns the input that marks the real rows, created at its first use.
func (l *lowering) rowShare() *gorgonia.Node {
	if l.share == nil {
		l.share = gorgonia.NewMatrix(l.expr, tensor.Float32, gorgonia.WithName(shareName), gorgonia.WithShape(1, l.batch))
	}
	return l.share
}

// average updates the two params of a Standardize after each step of a training.
type average struct {
	layer           string
	momentum        float64
	epsilon         float64
	mean, deviation []float32      // the params' values
	batchMean       *gorgonia.Node // of the expression, as batchVariance: [1, width]
	batchVariance   *gorgonia.Node
}

func newAverage(n *nn.Node, params map[string]*nn.Param, mean, variance *gorgonia.Node) average {
	return average{
		layer: n.Name, momentum: n.Attr.Momentum, epsilon: n.Attr.Epsilon,
		mean: params[n.In[1]].Values, deviation: params[n.In[2]].Values, batchMean: mean, batchVariance: variance,
	}
}

// move adds a batch's statistics, as the comment of BatchNormalization describes.
func (a average) move(mean, variance []float32) error {
	if len(mean) != len(a.mean) || len(variance) != len(a.deviation) {
		return fmt.Errorf("layer %q: statistics of %d and %d columns, expected %d", a.layer, len(mean), len(variance), len(a.mean))
	}
	keep, take := a.momentum, 1-a.momentum
	for j := range a.mean {
		square := float64(a.deviation[j]) * float64(a.deviation[j])
		a.mean[j] = float32(float64(a.mean[j])*keep + float64(mean[j])*take)
		a.deviation[j] = float32(math.Sqrt(square*keep + (float64(variance[j])+a.epsilon)*take))
	}
	return nil
}
