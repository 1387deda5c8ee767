package nn

import (
	"fmt"
)

// elementwise is what computes an op on each element alone; nil for other ops.
func elementwise(n *Node) stepFunc {
	if f, ok := n.Op.Func(); ok {
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
