package savedmodel

import (
	"fmt"

	typepb "github.com/wamuir/graft/tensorflow/core/framework/types_go_proto"

	"github.com/stoker-ml/stoker/compute/nn"
)

// forward writes a model's forward pass into a function, op by op. The graph has passed nn's own
// check.
type forward struct {
	*function
	types  map[string]nn.Type
	params map[string]capture
	tables map[string]capture // of OpVocab, by node
	values map[string]edge    // inputs and nodes done
}

func (w *forward) write(nodes []nn.Node) error {
	for _, n := range nodes {
		t, err := w.lower(n)
		if err != nil {
			return fmt.Errorf("node %q: %w", n.Name, err)
		}
		w.values[n.Name] = t
	}
	return nil
}

// namesake are the ops on one value that TensorFlow has too, with TensorFlow's names.
var namesake = map[nn.Op]string{
	nn.OpRelu: "Relu", nn.OpTanh: "Tanh", nn.OpSigmoid: "Sigmoid", nn.OpSoftplus: "Softplus", nn.OpSoftmax: "Softmax", nn.OpNeg: "Neg",
	nn.OpAbs: "Abs", nn.OpExp: "Exp", nn.OpLog: "Log", nn.OpLog1p: "Log1p", nn.OpExpm1: "Expm1", nn.OpSqrt: "Sqrt", nn.OpSquare: "Square",
	nn.OpInverse: "Reciprocal",
}

// combination are the ops on two operands. TensorFlow repeats the narrower one as nn does.
var combination = map[nn.Op]string{
	nn.OpMatMul: "MatMul", nn.OpAddBias: "BiasAdd", nn.OpAdd: "AddV2", nn.OpSub: "Sub", nn.OpMul: "Mul", nn.OpDiv: "RealDiv",
	nn.OpMaximum: "Maximum", nn.OpMinimum: "Minimum",
}

// lower writes the nodes of TensorFlow that compute n.
func (w *forward) lower(n nn.Node) (edge, error) {
	x := w.values[n.In[0]]
	if op, ok := namesake[n.Op]; ok {
		return w.float(op, n, x), nil
	}
	if op, ok := combination[n.Op]; ok {
		return w.float(op, n, x, w.second(n)), nil
	}
	switch n.Op {
	case nn.OpLeakyRelu:
		return w.op("LeakyRelu", n.Name, attrs{"T": typeAttr(float32Type), "alpha": floatAttr(n.Attr.Alpha)}, x), nil
	case nn.OpSum, nn.OpMean, nn.OpMax:
		return w.reduce(n, x), nil
	case nn.OpSlice:
		return w.slice(n, x), nil
	case nn.OpConcat:
		return w.concat(n), nil
	case nn.OpCast:
		return w.cast(n.Name, x, int64Type, float32Type), nil
	case nn.OpOneHot:
		return w.oneHot(n, x), nil
	case nn.OpVocab:
		return w.vocab(n, x), nil
	case nn.OpHash:
		return w.op("StringToHashBucketFast", n.Name, attrs{"num_buckets": intAttr(n.Attr.Depth)}, x), nil
	case nn.OpClamp:
		return w.clamp(n, x), nil
	case nn.OpEmbed:
		return w.embed(n, x), nil
	case nn.OpDropNaN:
		return w.dropNaN(n, x), nil
	}
	return w.choose(n, x)
}

// float writes an op that has one type attribute, for float32.
func (w *forward) float(op string, n nn.Node, in ...edge) edge {
	return w.op(op, n.Name, attrs{"T": typeAttr(float32Type)}, in...)
}

// second returns the second operand: a value, or a variable, which is read.
func (w *forward) second(n nn.Node) edge {
	if t, ok := w.values[n.In[1]]; ok {
		return t
	}
	return w.param(n)
}

// param reads the variable that is the second operand.
func (w *forward) param(n nn.Node) edge {
	return w.op("ReadVariableOp", n.Name+"/ReadVariableOp", attrs{"dtype": typeAttr(float32Type)}, w.capture(w.params[n.In[1]]))
}

// reduce goes over the last axis and keeps it, with the width 1.
func (w *forward) reduce(n nn.Node, x edge) edge {
	a := attrs{"T": typeAttr(float32Type), "Tidx": typeAttr(int32Type), "keep_dims": boolAttr(true)}
	return w.op(string(n.Op), n.Name, a, x, w.constant(n.Name+"/axis", shapeConst(1)))
}

// slice takes columns of all rows.
func (w *forward) slice(n nn.Node, x edge) edge {
	begin := w.constant(n.Name+"/begin", shapeConst(0, n.Attr.Start))
	size := w.constant(n.Name+"/size", shapeConst(-1, n.Attr.End-n.Attr.Start))
	return w.op("Slice", n.Name, attrs{"T": typeAttr(float32Type), "Index": typeAttr(int32Type)}, x, begin, size)
}

func (w *forward) concat(n nn.Node) edge {
	if len(n.In) == 1 {
		return w.float("Identity", n, w.values[n.In[0]])
	}
	var in []edge
	for _, name := range n.In {
		in = append(in, w.values[name])
	}
	in = append(in, w.constant(n.Name+"/axis", int32Const(1)))
	a := attrs{"T": typeAttr(float32Type), "Tidx": typeAttr(int32Type), "N": intAttr(len(n.In))}
	return w.op("ConcatV2", n.Name, a, in...)
}

func (w *forward) oneHot(n nn.Node, x edge) edge {
	on, off := w.constant(n.Name+"/on", floatConst(1)), w.constant(n.Name+"/off", floatConst(0))
	depth := w.constant(n.Name+"/depth", int32Const(n.Attr.Depth))
	a := attrs{"T": typeAttr(float32Type), "TI": typeAttr(int64Type), "axis": intAttr(-1)}
	return w.flat(n, w.op("OneHot", n.Name+"/rows", a, x, depth, on, off))
}

func (w *forward) vocab(n nn.Node, x edge) edge {
	unknown := w.constant(n.Name+"/unknown", int64Const(int64(n.Attr.Depth-1)))
	a := attrs{"Tin": typeAttr(stringType), "Tout": typeAttr(int64Type)}
	return w.op("LookupTableFindV2", n.Name, a, w.capture(w.tables[n.Name]), x, unknown)
}

// clamp: y = x where 0 <= x <= depth-2, else depth-1.
func (w *forward) clamp(n nn.Node, x edge) edge {
	a := attrs{"T": typeAttr(int64Type)}
	low := w.op("GreaterEqual", n.Name+"/low", a, x, w.constant(n.Name+"/first", int64Const(0)))
	high := w.op("LessEqual", n.Name+"/high", a, x, w.constant(n.Name+"/last", int64Const(int64(n.Attr.Depth-2))))
	known := w.op("LogicalAnd", n.Name+"/known", nil, low, high)
	return w.op("SelectV2", n.Name, a, known, x, w.constant(n.Name+"/unknown", int64Const(int64(n.Attr.Depth-1))))
}

func (w *forward) embed(n nn.Node, x edge) edge {
	a := attrs{"Tparams": typeAttr(float32Type), "Tindices": typeAttr(int64Type), "Taxis": typeAttr(int32Type)}
	return w.flat(n, w.op("GatherV2", n.Name+"/rows", a, w.param(n), x, w.constant(n.Name+"/axis", int32Const(0))))
}

func (w *forward) dropNaN(n nn.Node, x edge) edge {
	a := attrs{"T": typeAttr(float32Type)}
	nan := w.op("IsNan", n.Name+"/nan", a, x)
	return w.op("SelectV2", n.Name, a, nan, w.constant(n.Name+"/zero", floatConst(0)), x)
}

// flat reshapes the result of n to [batch, width].
func (w *forward) flat(n nn.Node, t edge) edge {
	return w.reshape(n.Name, t, float32Type, -1, w.types[n.Name].Width)
}

func (f *function) reshape(name string, t edge, dtype typepb.DataType, dims ...int) edge {
	shape := f.constant(name+"/shape", shapeConst(dims...))
	return f.op("Reshape", name, attrs{"T": typeAttr(dtype), "Tshape": typeAttr(int32Type)}, t, shape)
}

func (f *function) cast(name string, t edge, from, to typepb.DataType) edge {
	return f.op("Cast", name, attrs{"SrcT": typeAttr(from), "DstT": typeAttr(to)}, t)
}
