package nn

import (
	"gorgonia.org/gorgonia"

	"github.com/stoker-ml/stoker/compute/kernel"
)

// mapped are the ops on each element alone that a kernel does.
var mapped = map[Op]kernel.Func{
	OpRelu: kernel.Relu, OpSigmoid: kernel.Sigmoid, OpSoftplus: kernel.Softplus, OpTanh: kernel.Tanh, OpNeg: kernel.Neg,
	OpAbs: kernel.Abs, OpExp: kernel.Exp, OpLog: kernel.Log, OpLog1p: kernel.Log1p, OpExpm1: kernel.Expm1, OpSqrt: kernel.Sqrt,
	OpSquare: kernel.Square, OpInverse: kernel.Inverse,
}

// elementwise is what computes an op on each element alone; nil for other ops.
func elementwise(n *Node) stepFunc {
	if f, ok := mapped[n.Op]; ok {
		return func(s *step, _ int) error {
			alone.Map(f, s.out.Floats, s.in[0].Floats)
			return nil
		}
	}
	switch n.Op {
	case OpLeakyRelu:
		return each(leakyRelu(n.Attr.Alpha))
	case OpDropNaN:
		return each(dropNaN)
	}
	return nil
}

func leakyRelu(alpha float32) func(float32) float32 {
	return func(x float32) float32 {
		if x > 0 {
			return x
		}
		return alpha * x
	}
}

func dropNaN(x float32) float32 {
	if x != x {
		return 0
	}
	return x
}

// elementwise writes an op on each element alone; nil for other ops.
func (l *lowering) elementwise(n *Node, x *gorgonia.Node) *gorgonia.Node {
	switch n.Op {
	case OpRelu:
		return l.leakyRelu(x, 0)
	case OpLeakyRelu:
		return l.leakyRelu(x, n.Attr.Alpha)
	case OpSigmoid:
		return l.of(gorgonia.Sigmoid, x)
	case OpSoftplus:
		return l.of(gorgonia.Softplus, x)
	case OpTanh:
		return l.of(gorgonia.Tanh, x)
	case OpNeg:
		return l.of(gorgonia.Neg, x)
	case OpAbs:
		return l.of(gorgonia.Abs, x)
	case OpExp:
		return l.of(gorgonia.Exp, x)
	case OpLog:
		return l.of(gorgonia.Log, x)
	case OpLog1p:
		return l.of(gorgonia.Log1p, x)
	case OpExpm1:
		return l.of(gorgonia.Expm1, x)
	case OpSqrt:
		return l.of(gorgonia.Sqrt, x)
	case OpSquare:
		return l.of(gorgonia.Square, x)
	case OpInverse:
		return l.of(gorgonia.Inverse, x)
	}
	return nil
}

// leakyRelu is x where x > 0, else alpha x. Unlike gorgonia.Rectify's its slope at 0 is alpha, as in TensorFlow.
func (l *lowering) leakyRelu(x *gorgonia.Node, alpha float32) *gorgonia.Node {
	mask := l.run(func() (*gorgonia.Node, error) { return gorgonia.Gt(x, gorgonia.NewConstant(float32(0)), true) })
	if alpha != 0 {
		mask = l.of2(gorgonia.Add, l.of2(gorgonia.HadamardProd, mask, gorgonia.NewConstant(1-alpha)), gorgonia.NewConstant(alpha))
	}
	return l.of2(gorgonia.HadamardProd, x, mask)
}
