package tflite

import (
	"encoding/binary"

	"github.com/stoker-ml/stoker/compute/nn"
)

// simple is an op that is one operator of the format, with the same operands.
type simple struct {
	code    opcode
	options func(n *nn.Node) options
	extra   func(l *lowering, n *nn.Node) []int32 // further operands
	eight   eightRule
	fixed   scaling // of eightFixed
}

// eightRule is the specification's rule for how an operator computes in 8 bits.
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

// bounds returns the first row and column, and how many of each; -1 is all.
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

// loweringOf writes an op that is more than one operator, or has weights; nil for an op that the
// format can't represent.
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

// dropNaN returns 0 where x != x, else x.
func dropNaN(s steps, x int32) int32 {
	return s.of(opSelectV2, s.typed(opNotEqual, boolType, x, x), s.l.number(0), x)
}

// smallNumber is where log1p changes from the series to the logarithm. The error of the series is
// x^4/5 of itself, 2e-7 here; the logarithm of LiteRT by 1e-7 near 1, which is 4e-6 of log(1.03).
const smallNumber = 0.03

// log1p returns log(1 + x), for small x by the series x - x^2/2 + x^3/3 - x^4/4, since 1 + x loses
// the digits of x.
func log1p(s steps, x int32) int32 {
	sum := s.l.number(1. / 4)
	for _, term := range []float32{1. / 3, 1. / 2, 1} {
		sum = s.of(opSub, s.l.number(term), s.of(opMul, x, sum))
	}
	series := s.of(opMul, x, sum)
	isSmall := s.typed(opLess, boolType, s.of(opAbs, x), s.l.number(smallNumber))
	return s.of(opSelectV2, isSmall, series, s.of(opLog, s.of(opAdd, x, s.l.number(1))))
}

// expm1 returns exp(x) - 1 = tanh(x/2) * (exp(x) + 1), exact for a small x too.
func expm1(s steps, x int32) int32 {
	half := s.of(opMul, x, s.l.number(0.5))
	return s.of(opMul, s.of(opTanh, half), s.of(opAdd, s.of(opExp, x), s.l.number(1)))
}

// softplus returns log(1 + exp(x)) = max(x, 0) + log1p(exp(-|x|)), which can't overflow.
func softplus(s steps, x int32) int32 {
	small := s.of(opExp, s.of(opNeg, s.of(opAbs, x)))
	return s.of(opAdd, s.of(opRelu, x), log1p(s, small))
}

// clamp is x where 0 <= x <= depth-2, else depth-1.
func (l *lowering) clamp(n *nn.Node) { l.keep(n, n.Attr.Depth-1, int64(n.Attr.Depth-1)) }

// within is x where 0 <= x <= depth-1, else the default.
func (l *lowering) within(n *nn.Node) { l.keep(n, n.Attr.Depth, n.Attr.Default) }

// keep is x where 0 <= x < count, else other.
func (l *lowering) keep(n *nn.Node, count int, other int64) {
	s, x := steps{l, n}, l.plain(n.In[0])
	id := func(v int64) int32 { return l.constant(int64Type, nil, int64Bytes(v)) }
	low := s.typed(opGreaterEqual, boolType, x, id(0))
	high := s.typed(opLess, boolType, x, id(int64(count)))
	known := s.typed(opLogicalAnd, boolType, low, high)
	l.values[n.Name] = newValue(s.typed(opSelectV2, int64Type, known, x, id(other)))
}

// bucket is the number of boundaries that are at most x; BUCKETIZE gives it in 32 bits.
func (l *lowering) bucket(n *nn.Node) {
	op := operator{code: opBucketize, in: []int32{l.plain(n.In[0])}, options: bucketizeOptions(n.Attr.Boundaries)}
	short := l.emit(op, l.rows(n, int32Type))
	op = operator{code: opCast, in: []int32{short}, options: castOptions(int32Type, int64Type)}
	l.values[n.Name] = newValue(l.emit(op, l.rows(n, int64Type)))
}

// argMax writes ARG_MAX, whose list is reshaped to rows.
func (l *lowering) argMax(n *nn.Node) {
	axis := l.constant(int32Type, nil, int32Bytes(1))
	op := operator{code: opArgMax, in: []int32{l.plain(n.In[0]), axis}, options: argMaxOptions()}
	list := l.emit(op, tensor{name: n.Name + "/list", kind: int64Type, shape: []int32{-1}})
	l.values[n.Name] = newValue(l.reshape(n.Name, list, 1))
}

// label looks names up by their index. A runtime refuses one that is out of range.
func (l *lowering) label(n *nn.Node) {
	names := l.add(tensor{
		name: n.Name + "/names", kind: stringType, shape: []int32{int32(len(n.Attr.Vocabulary))}, data: stringBytes(n.Attr.Vocabulary),
	})
	op := operator{code: opGather, in: []int32{names, l.plain(n.In[0])}, options: options{table: gatherTable}}
	l.values[n.Name] = newValue(l.emit(op, l.rows(n, stringType)))
}

// stringBytes returns how a tensor holds strings: how many there are, where each begins and the
// last ends, counted from the tensor's first byte, and then their bytes
// (tensorflow/lite/string_util.h).
func stringBytes(words []string) []byte {
	b := binary.LittleEndian.AppendUint32(nil, uint32(len(words)))
	at := 4 * (len(words) + 2)
	for _, w := range words {
		b = binary.LittleEndian.AppendUint32(b, uint32(at))
		at += len(w)
	}
	b = binary.LittleEndian.AppendUint32(b, uint32(at))
	for _, w := range words {
		b = append(b, w...)
	}
	return b
}

func (l *lowering) cast(n *nn.Node) {
	op := operator{code: opCast, in: []int32{l.plain(n.In[0])}, options: castOptions(int64Type, float32Type)}
	l.values[n.Name] = newValue(l.emit(op, l.rows(n, float32Type)))
}

// oneHot is [rows, width, depth], reshaped to rows.
func (l *lowering) oneHot(n *nn.Node) {
	depth := l.constant(int32Type, nil, int32Bytes(int32(n.Attr.Depth)))
	op := operator{code: opOneHot, in: []int32{l.plain(n.In[0]), depth, l.number(1), l.number(0)}, options: oneHotOptions()}
	shape := []int32{-1, int32(l.types[n.In[0]].Width), int32(n.Attr.Depth)}
	t := l.emit(op, tensor{name: n.Name + "/each", shape: shape})
	l.values[n.Name] = newValue(l.reshape(n.Name, t, l.types[n.Name].Width))
}

// embed is the rows of a table, [rows, width, d], reshaped to rows. A runtime refuses an index that
// is out of range.
func (l *lowering) embed(n *nn.Node) {
	table, ids := l.params[n.In[1]], l.plain(n.In[0])
	eight := l.o.Quantization == Int8 || l.o.Quantization == DynamicInt8 && isLarge(table)
	if !eight {
		rows := l.gather(n, l.matrix(table), ids, tensor{}, 1)
		l.values[n.Name] = newValue(l.reshape(n.Name, rows, l.types[n.Name].Width))
		return
	}
	s := scalingFor(table.Values)
	rows := l.gather(n, l.eight(table.Name, s), ids, tensor{}.eight(s), 2)
	l.values[n.Name] = newEight(l.reshape(n.Name, rows, l.types[n.Name].Width), s)
}

// gather is like in what its elements are.
func (l *lowering) gather(n *nn.Node, table, ids int32, like tensor, version int32) int32 {
	like.name = n.Name + "/each"
	like.shape = []int32{-1, int32(l.types[n.In[0]].Width), l.tensors[table].shape[1]}
	op := operator{code: opGather, version: version, in: []int32{table, ids}, options: options{table: gatherTable}}
	return l.emit(op, like)
}
