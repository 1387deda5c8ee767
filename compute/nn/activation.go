package nn

import "fmt"

// Activation is y = act(x): OpRelu, OpTanh, OpSigmoid or OpSoftmax.
func (b *Builder) Activation(name string, x Ref, act Op) Ref {
	if !isActivation(act) {
		b.fail(fmt.Errorf("layer %q: %q is no activation", name, act))
	}
	return b.node(name, x.Type, Node{Op: act, In: []string{x.Name}})
}

func isActivation(op Op) bool {
	return op == OpRelu || op == OpTanh || op == OpSigmoid || op == OpSoftmax
}

// ActivationNamed finds an activation by its Keras name: relu, tanh, sigmoid, softmax; linear is "", none.
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
	case "linear":
		return "", nil
	}
	return "", fmt.Errorf("unknown activation %q: expected relu, tanh, sigmoid, softmax or linear", name)
}
