package tflite

import "github.com/stoker-ml/stoker/compute/nn"

// simple is an op that is one operator of the format, with the same operands.
type simple struct {
	code    opcode
	options func(n *nn.Node) options
	extra   func(l *lowering, n *nn.Node) []int32 // further operands
	eight   eightRule
	fixed   scaling // of eightFixed
}

// eightRule says how an operator computes in 8 bits, as the specification has it.
type eightRule int

const (
	eightNever eightRule = iota // it has no 8 bits that all runtimes know: float32
	eightFree                   // operands and result each have their own scaling
	eightSame                   // all have the result's scaling
	eightKept                   // the result has the operand's scaling
	eightFixed                  // the result has a scaling that the specification fixes
)

func simpleOf(op nn.Op) (simple, bool) {
	switch op {
	case nn.OpAdd, nn.OpAddBias:
		return simple{code: opAdd, options: empty(addTable), eight: eightFree}, true
	case nn.OpSub:
		return simple{code: opSub, options: empty(subTable), eight: eightFree}, true
	case nn.OpMul:
		return simple{code: opMul, options: empty(mulTable), eight: eightFree}, true
	case nn.OpDiv:
		return simple{code: opDiv, options: empty(divTable)}, true
	case nn.OpMaximum:
		return simple{code: opMaximum, eight: eightSame}, true
	case nn.OpMinimum:
		return simple{code: opMinimum, eight: eightSame}, true
	case nn.OpConcat:
		return simple{code: opConcatenation, options: fixed(concatenationOptions()), eight: eightSame}, true
	case nn.OpSlice:
		return simple{code: opSlice, extra: bounds, eight: eightKept}, true
	case nn.OpSum:
		return simple{code: opSum, options: fixed(reducerOptions()), extra: lastAxis, eight: eightFree}, true
	case nn.OpMean:
		return simple{code: opMean, options: fixed(reducerOptions()), extra: lastAxis, eight: eightFree}, true
	case nn.OpMax:
		return simple{code: opReduceMax, options: fixed(reducerOptions()), extra: lastAxis, eight: eightKept}, true
	case nn.OpSoftmax:
		return simple{code: opSoftmax, options: fixed(softmaxOptions()), eight: eightFixed, fixed: unitScaling}, true
	}
	return elementwiseOf(op)
}

func elementwiseOf(op nn.Op) (simple, bool) {
	switch op {
	case nn.OpRelu:
		return simple{code: opRelu, eight: eightFree}, true
	case nn.OpLeakyRelu:
		return simple{code: opLeakyRelu, options: leakyReluOf, eight: eightFree}, true
	case nn.OpTanh:
		return simple{code: opTanh, eight: eightFixed, fixed: signedScaling}, true
	case nn.OpSigmoid:
		return simple{code: opLogistic, eight: eightFixed, fixed: unitScaling}, true
	case nn.OpNeg:
		return simple{code: opNeg}, true
	case nn.OpAbs:
		return simple{code: opAbs}, true
	case nn.OpExp:
		return simple{code: opExp}, true
	case nn.OpLog:
		return simple{code: opLog}, true
	case nn.OpSqrt:
		return simple{code: opSqrt}, true
	case nn.OpSquare:
		return simple{code: opSquare}, true
	}
	return simple{}, false
}

func fixed(o options) func(*nn.Node) options   { return func(*nn.Node) options { return o } }
func empty(table uint8) func(*nn.Node) options { return fixed(options{table: table}) }
func leakyReluOf(n *nn.Node) options           { return leakyReluOptions(n.Attr.Alpha) }
func lastAxis(l *lowering, _ *nn.Node) []int32 { return []int32{l.ints(1)} }

// bounds are the first row and column, and how many of each; -1 is all.
func bounds(l *lowering, n *nn.Node) []int32 {
	return []int32{l.ints(0, int32(n.Attr.Start)), l.ints(-1, int32(n.Attr.End-n.Attr.Start))}
}

// simple writes a node that is one operator.
func (l *lowering) simple(n *nn.Node, s simple) {
	op := operator{code: s.code}
	if s.options != nil {
		op.options = s.options(n)
	}
	eight := l.o.Quantization == Int8 && l.weighted[n.Name] && s.eight != eightNever
	if eight {
		l.simpleEight(n, s, op)
		return
	}
	for _, name := range n.In {
		op.in = append(op.in, l.plain(name))
	}
	op.in = append(op.in, l.extra(n, s)...)
	l.values[n.Name] = newValue(l.emit(op, l.rows(n, float32Type)))
}

func (l *lowering) extra(n *nn.Node, s simple) []int32 {
	if s.extra == nil {
		return nil
	}
	return s.extra(l, n)
}

// simpleEight writes it in 8 bits.
func (l *lowering) simpleEight(n *nn.Node, s simple, op operator) {
	result := l.resultScaling(n, s)
	for _, name := range n.In {
		if s.eight == eightSame {
			op.in = append(op.in, l.eight(name, result))
		} else {
			op.in = append(op.in, l.ownEight(name))
		}
	}
	op.in = append(op.in, l.extra(n, s)...)
	if op.version = 2; s.code == opLeakyRelu {
		op.version = 1 // always had 8 bits
	}
	l.values[n.Name] = newEight(l.emit(op, l.rows(n, int8Type).eight(result)), result)
}

func (l *lowering) resultScaling(n *nn.Node, s simple) scaling {
	switch s.eight {
	case eightFixed:
		return s.fixed
	case eightKept:
		return l.scalingOf(n.In[0])
	}
	return l.scalingOf(n.Name)
}
