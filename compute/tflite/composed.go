package tflite

import "github.com/stoker-ml/stoker/compute/nn"

// loweringOf writes an op that is more than one operator, or has weights; nil for an op that the format can't hold.
func loweringOf(op nn.Op) func(l *lowering, n *nn.Node) {
	switch op {
	case nn.OpMatMul:
		return (*lowering).dense
	case nn.OpEmbed:
		return (*lowering).embed
	case nn.OpCast:
		return (*lowering).cast
	case nn.OpOneHot:
		return (*lowering).oneHot
	case nn.OpClamp:
		return (*lowering).clamp
	case nn.OpDropNaN:
		return composed(dropNaN)
	case nn.OpInverse:
		return composed(func(s steps, x int32) int32 { return s.of(opDiv, s.l.number(1), x) })
	case nn.OpLog1p:
		return composed(log1p)
	case nn.OpExpm1:
		return composed(expm1)
	case nn.OpSoftplus:
		return composed(softplus)
	}
	return nil
}

// steps writes the operators of one node. All tensors have its result's shape.
type steps struct {
	l *lowering
	n *nn.Node
}

// composed writes a node over one float32 operand as several operators.
func composed(write func(s steps, x int32) int32) func(l *lowering, n *nn.Node) {
	return func(l *lowering, n *nn.Node) {
		l.values[n.Name] = newValue(write(steps{l, n}, l.plain(n.In[0])))
	}
}

func (s steps) of(code opcode, in ...int32) int32 { return s.typed(code, float32Type, in...) }

func (s steps) typed(code opcode, kind elementType, in ...int32) int32 {
	return s.l.emit(operator{code: code, in: in}, s.l.rows(s.n, kind))
}

// dropNaN is 0 where x != x, else x.
func dropNaN(s steps, x int32) int32 {
	return s.of(opSelectV2, s.typed(opNotEqual, boolType, x, x), s.l.number(0), x)
}

// log1p is log(1 + x) without the loss of 1 + x for a small x: with w = 1 + x as it is rounded,
//
//	log(1 + x) = log(w) - ((w - 1) - x) / w, the second term being what rounding lost.
//
// Where nothing was lost it is left out: at infinity, and at -1, it would be no number. (Goldberg, What Every Computer Scientist
// Should Know About Floating-Point Arithmetic, theorem 4, in the form of a correction.)
func log1p(s steps, x int32) int32 {
	w := s.of(opAdd, x, s.l.number(1))
	back := s.of(opSub, w, s.l.number(1))
	exact := s.typed(opEqual, boolType, back, x)
	log := s.of(opLog, w)
	lost := s.of(opDiv, s.of(opSub, back, x), w)
	return s.of(opSelectV2, exact, log, s.of(opSub, log, lost))
}

// expm1 is exp(x) - 1 = tanh(x/2) * (exp(x) + 1), exact for a small x too.
func expm1(s steps, x int32) int32 {
	half := s.of(opMul, x, s.l.number(0.5))
	return s.of(opMul, s.of(opTanh, half), s.of(opAdd, s.of(opExp, x), s.l.number(1)))
}

// softplus is log(1 + exp(x)) = max(x, 0) + log1p(exp(-|x|)), which can't overflow.
func softplus(s steps, x int32) int32 {
	small := s.of(opExp, s.of(opNeg, s.of(opAbs, x)))
	return s.of(opAdd, s.of(opRelu, x), log1p(s, small))
}
