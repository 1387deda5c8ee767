package nn

import (
	"fmt"
	"math"
	"slices"

	"gorgonia.org/gorgonia"
	"gorgonia.org/tensor"
)

// Sum is the sum of each row, [b,1].
func (b *Builder) Sum(name string, x Ref) Ref { return b.reduce(name, OpSum, x) }

// Mean is the mean of each row, [b,1].
func (b *Builder) Mean(name string, x Ref) Ref { return b.reduce(name, OpMean, x) }

// Max is the largest of each row, [b,1]; NaN if there is one.
func (b *Builder) Max(name string, x Ref) Ref { return b.reduce(name, OpMax, x) }

func (b *Builder) reduce(name string, op Op, x Ref) Ref {
	return b.node(name, Type{Float32, 1}, Node{Op: op, In: []string{x.Name}})
}

// reduced is the rule of ops that make one number of a row.
func (c *checker) reduced(n *Node) (Type, error) {
	_, err := c.same(n, Float32)
	return Type{Float32, 1}, err
}

// reduce is y[r] = f(x[r,:]).
func reduce(f func(row []float32) float32) stepFunc {
	return func(s *step, rows int) error {
		w := s.in[0].Width
		for r := range rows {
			s.out.Floats[r] = f(s.in[0].Floats[r*w : (r+1)*w])
		}
		return nil
	}
}

// reduction is the formula of an op that makes one number of a row; nil for other ops.
func reduction(op Op) func(row []float32) float32 {
	switch op {
	case OpSum:
		return sum
	case OpMean:
		return func(row []float32) float32 { return sum(row) / float32(len(row)) }
	case OpMax:
		return slices.Max
	}
	return nil
}

func sum(row []float32) float32 {
	var total float32
	for _, x := range row {
		total += x
	}
	return total
}

// reduce writes an op that makes one number of a row, as a column [b,1].
func (l *lowering) reduce(op Op, x *gorgonia.Node) *gorgonia.Node {
	if l.err != nil {
		return nil
	}
	width := x.Shape()[1]
	switch op {
	case OpMax:
		return l.rowMax(x, width)
	case OpMean:
		return l.of2(gorgonia.HadamardProd, l.rowSum(x, width), gorgonia.NewConstant(1/float32(width)))
	}
	return l.rowSum(x, width)
}

// rowSum is x times a column of ones: Gorgonia's Sum along an axis has no right gradient for a matrix of one row.
func (l *lowering) rowSum(x *gorgonia.Node, width int) *gorgonia.Node {
	return l.of2(gorgonia.Mul, x, l.ones(tensor.Shape{width, 1}))
}

// rowMax is the larger of the columns, one after another, so that the slope goes to one of equal ones.
func (l *lowering) rowMax(x *gorgonia.Node, width int) *gorgonia.Node {
	m := l.slice(x, 0, 1)
	for j := 1; j < width; j++ {
		m = l.choose(gorgonia.Gte, m, l.slice(x, j, j+1))
	}
	return m
}

// average moves the two params of a Standardize after each step of a training.
type average struct {
	layer           string
	momentum        float64
	epsilon         float64
	mean, deviation []float32      // the params' values
	batchMean       *gorgonia.Node // of the expression, as batchVariance: [1, width]
	batchVariance   *gorgonia.Node
}

func newAverage(n *Node, params map[string]*Param, mean, variance *gorgonia.Node) average {
	return average{
		layer: n.Name, momentum: n.Attr.Momentum, epsilon: n.Attr.Epsilon,
		mean: params[n.In[1]].Values, deviation: params[n.In[2]].Values, batchMean: mean, batchVariance: variance,
	}
}

// move takes in a batch's statistics, as the comment of BatchNormalization says.
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
