package nn

import (
	"fmt"

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

// Activation is y = act(x): OpRelu, OpTanh, OpSigmoid, OpSoftplus or OpSoftmax.
func (b *Builder) Activation(name string, x Ref, act Op) Ref {
	if !isActivation(act) {
		b.fail(fmt.Errorf("layer %q: %q is no activation", name, act))
	}
	return b.node(name, x.Type, Node{Op: act, In: []string{x.Name}})
}

func isActivation(op Op) bool {
	return op == OpRelu || op == OpTanh || op == OpSigmoid || op == OpSoftplus || op == OpSoftmax
}

// LeakyRelu is x where x > 0, else alpha x.
func (b *Builder) LeakyRelu(name string, x Ref, alpha float32) Ref {
	return b.node(name, x.Type, Node{Op: OpLeakyRelu, In: []string{x.Name}, Attr: Attr{Alpha: alpha}})
}

// Apply is y = f(x), element by element: OpNeg, OpAbs, OpExp, OpLog and the like.
func (b *Builder) Apply(name string, x Ref, f Op) Ref {
	n := Node{Op: f, In: []string{x.Name}}
	if elementwise(&n) == nil {
		b.fail(fmt.Errorf("node %q: %q is no function of each element", name, f))
	}
	return b.node(name, x.Type, n)
}

// ActivationNames returns the names that ActivationNamed knows.
func ActivationNames() []string {
	return []string{"relu", "tanh", "sigmoid", "softmax", "softplus", "linear"}
}

// ActivationNamed finds an activation by its Keras name: relu, tanh, sigmoid, softmax, softplus; linear is "", none.
func ActivationNamed(name string) (Op, error) {
	switch name {
	case "relu":
		return OpRelu, nil
	case "tanh":
		return OpTanh, nil
	case "sigmoid":
		return OpSigmoid, nil
	case "softmax":
		return OpSoftmax, nil
	case "softplus":
		return OpSoftplus, nil
	case "linear":
		return "", nil
	}
	return "", fmt.Errorf("unknown activation %q: expected relu, tanh, sigmoid, softmax, softplus or linear", name)
}
