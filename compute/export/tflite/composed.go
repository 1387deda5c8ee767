package tflite

import "github.com/stoker-ml/stoker/compute/nn"

// loweringOf writes an op that is more than one operator, or has weights; nil for an op that the
// format can't hold.
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
	case nn.OpWithin:
		return (*lowering).within
	case nn.OpBucket:
		return (*lowering).bucket
	case nn.OpArgMax:
		return (*lowering).argMax
	case nn.OpLabel:
		return (*lowering).label
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

// smallNumber is where log1p goes over from the series to the logarithm. The series is off by x^4/5
// of itself, 2e-7 here; the logarithm of LiteRT by 1e-7 near 1, which is 4e-6 of log(1.03).
const smallNumber = 0.03

// log1p is log(1 + x), for small x by the series x - x^2/2 + x^3/3 - x^4/4, since 1 + x loses the
// digits of x.
func log1p(s steps, x int32) int32 {
	sum := s.l.number(1. / 4)
	for _, term := range []float32{1. / 3, 1. / 2, 1} {
		sum = s.of(opSub, s.l.number(term), s.of(opMul, x, sum))
	}
	series := s.of(opMul, x, sum)
	isSmall := s.typed(opLess, boolType, s.of(opAbs, x), s.l.number(smallNumber))
	return s.of(opSelectV2, isSmall, series, s.of(opLog, s.of(opAdd, x, s.l.number(1))))
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
