package nn

import (
	"fmt"
	"math"

	"github.com/stoker-ml/stoker/compute/nn/initializer"
)

// Normalize is y = (x - mean) * scale, by column; scale is 1/standard deviation. Both stay as they are in training.
func (b *Builder) Normalize(name string, x Ref, mean, scale []float32) Ref {
	y := b.node(name+"/Sub", x.Type, Node{Op: OpSub, In: []string{x.Name, b.Constant(name+"/mean", mean...).Name}})
	return b.node(name+"/Mul", x.Type, Node{Op: OpMul, In: []string{y.Name, b.Constant(name+"/scale", scale...).Name}})
}

// DropNaN makes NaN 0: after Normalize, what is missing becomes the mean.
func (b *Builder) DropNaN(name string, x Ref) Ref {
	return b.node(name, x.Type, Node{Op: OpDropNaN, In: []string{x.Name}})
}

// LayerNormalization is y = (x - mean) / sqrt(variance + epsilon) * gamma + beta, with mean and variance of each row, the variance
// the mean of squares (Ba et al. 2016, as Keras's, whose epsilon, 0.001, 0 stands for). gamma [width] is from 1, beta [width] from 0.
func (b *Builder) LayerNormalization(name string, x Ref, epsilon float64) Ref {
	if epsilon == 0 {
		epsilon = 1e-3
	}
	if !(epsilon > 0) {
		b.fail(fmt.Errorf("layer %q: epsilon %g, expected a number above 0", name, epsilon))
	}
	gamma, beta := b.param(name+"/gamma", initializer.Ones, x.Type.Width), b.param(name+"/beta", initializer.Zeros, x.Type.Width)
	centered := b.Sub(name+"/Sub", x, b.Mean(name+"/Mean", x))
	variance := b.Mean(name+"/Variance", b.Apply(name+"/Square", centered, OpSquare))
	deviation := b.Apply(name+"/Sqrt", b.Add(name+"/AddEpsilon", variance, b.Constant(name+"/epsilon", float32(epsilon))), OpSqrt)
	y := b.Div(name+"/Div", centered, deviation)
	y = b.node(name+"/Mul", x.Type, Node{Op: OpMul, In: []string{y.Name, gamma}})
	return b.node(name+"/Add", x.Type, Node{Op: OpAdd, In: []string{y.Name, beta}})
}

// BatchNorm are the numbers of a BatchNormalization. The zero value is Keras's default.
type BatchNorm struct {
	Momentum float64 // of the moving averages; 0: 0.99
	Epsilon  float64 // added to the variance; 0: 0.001
	NoScale  bool    // there is no gamma
	NoCenter bool    // there is no beta
}

// BatchNormalization is y = (x - mean) / sqrt(variance + Epsilon) * gamma + beta, by column (Ioffe and Szegedy 2015, as Keras's). In
// training mean and variance are those of the batch, every row the same, whatever its weight; the variance is the mean of squares.
// Each step moves two params that a prediction, and a file, has in their place:
//
//	moving_mean = moving_mean Momentum + mean (1 - Momentum), from 0
//	moving_deviation = sqrt(moving_deviation^2 Momentum + (variance + Epsilon) (1 - Momentum)), from sqrt(1 + Epsilon)
//
// The second is sqrt(moving_variance + Epsilon) with Keras's moving_variance, so that a prediction is a division. gamma [width] is
// from 1, beta [width] from 0.
func (b *Builder) BatchNormalization(name string, x Ref, o BatchNorm) Ref {
	o = o.withDefaults()
	if !(o.Momentum >= 0 && o.Momentum < 1) || !(o.Epsilon > 0) {
		b.fail(fmt.Errorf("layer %q: momentum %g and epsilon %g, expected 0 to below 1 and above 0", name, o.Momentum, o.Epsilon))
		return x
	}
	y := b.standardize(name, x, o)
	if !o.NoScale {
		gamma := b.param(name+"/gamma", initializer.Ones, x.Type.Width)
		y = b.node(name+"/Mul", x.Type, Node{Op: OpMul, In: []string{y.Name, gamma}})
	}
	if !o.NoCenter {
		beta := b.param(name+"/beta", initializer.Zeros, x.Type.Width)
		y = b.node(name+"/Add", x.Type, Node{Op: OpAdd, In: []string{y.Name, beta}})
	}
	return y
}

func (o BatchNorm) withDefaults() BatchNorm {
	if o.Momentum == 0 {
		o.Momentum = 0.99
	}
	if o.Epsilon == 0 {
		o.Epsilon = 1e-3
	}
	return o
}

// standardize is one node in training, and two, by the moving averages, else.
func (b *Builder) standardize(name string, x Ref, o BatchNorm) Ref {
	mean := b.moving(name+"/moving_mean", x.Type.Width, 0)
	deviation := b.moving(name+"/moving_deviation", x.Type.Width, float32(math.Sqrt(1+o.Epsilon)))
	y := name + "/Div"
	b.train(Node{Name: y, Op: OpStandardize, In: []string{x.Name, mean, deviation}, Attr: Attr{Epsilon: o.Epsilon, Momentum: o.Momentum}})
	b.serve(Node{Name: name + "/Sub", Op: OpSub, In: []string{x.Name, mean}})
	b.serve(Node{Name: y, Op: OpDiv, In: []string{name + "/Sub", deviation}})
	return Ref{y, x.Type}
}

// moving adds a param that is an average of what training sees.
func (b *Builder) moving(name string, width int, start float32) string {
	p := Param{Name: name, Shape: []int{width}, Values: make([]float32, width), Moving: true}
	for i := range p.Values {
		p.Values[i] = start
	}
	return b.add(p)
}

// standardized is the rule of a value and its two moving averages.
func (c *checker) standardized(n *Node) (Type, error) {
	t, err := c.in(n, 0, Float32)
	if err != nil {
		return Type{}, err
	}
	if len(n.In) != 3 {
		return Type{}, fmt.Errorf("%d operands, expected 3", len(n.In))
	}
	for _, name := range n.In[1:] {
		p := c.params[name]
		if p == nil || !p.Moving || len(p.Shape) != 1 || p.Shape[0] != t.Width {
			return Type{}, fmt.Errorf("operand %q is no moving param of shape [%d]", name, t.Width)
		}
	}
	return t, nil
}
