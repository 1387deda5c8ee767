package nn

import (
	"fmt"

	"github.com/stoker-ml/stoker/compute/nn/initializer"
)

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
