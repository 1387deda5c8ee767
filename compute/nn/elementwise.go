package nn

import (
	"math"

	"gorgonia.org/gorgonia"
)

// elementwise is the formula of an op on each element alone; nil for other ops. Functions of the mathematical library are
// computed in float64 and rounded.
func elementwise(n *Node) func(x float32) float32 {
	switch n.Op {
	case OpRelu:
		return relu
	case OpLeakyRelu:
		return leakyRelu(n.Attr.Alpha)
	case OpSigmoid:
		return sigmoid
	case OpSoftplus:
		return softplus
	case OpDropNaN:
		return dropNaN
	case OpNeg:
		return func(x float32) float32 { return -x }
	case OpSquare:
		return func(x float32) float32 { return x * x }
	case OpInverse:
		return func(x float32) float32 { return 1 / x }
	}
	if f := library(n.Op); f != nil {
		return func(x float32) float32 { return float32(f(float64(x))) }
	}
	return nil
}

func library(op Op) func(float64) float64 {
	switch op {
	case OpTanh:
		return math.Tanh
	case OpAbs:
		return math.Abs
	case OpExp:
		return math.Exp
	case OpLog:
		return math.Log
	case OpLog1p:
		return math.Log1p
	case OpExpm1:
		return math.Expm1
	case OpSqrt:
		return math.Sqrt
	}
	return nil
}

// relu is max(x, 0); NaN stays NaN, as in TensorFlow.
func relu(x float32) float32 {
	if x < 0 {
		return 0
	}
	return x
}

func leakyRelu(alpha float32) func(float32) float32 {
	return func(x float32) float32 {
		if x > 0 {
			return x
		}
		return alpha * x
	}
}

// sigmoid is 1/(1+exp(-x)), computed so that exp can't overflow.
func sigmoid(x float32) float32 {
	if x >= 0 {
		return float32(1 / (1 + math.Exp(-float64(x))))
	}
	e := math.Exp(float64(x))
	return float32(e / (1 + e))
}

// softplus is log(1+exp(x)) = max(x,0) + log(1+exp(-|x|)), which can't overflow.
func softplus(x float32) float32 {
	return float32(math.Max(float64(x), 0) + math.Log1p(math.Exp(-math.Abs(float64(x)))))
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
