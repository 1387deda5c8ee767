package onnx

import (
	"fmt"
	"math"
	"unicode/utf8"

	"google.golang.org/protobuf/proto"

	"github.com/stoker-ml/stoker/compute/export/onnx/onnxpb"
	"github.com/stoker-ml/stoker/compute/nn"
)

// plain are the ops that become one operator each, without attributes. Operators on two operands
// repeat the narrower one, as the ops do.
var plain = map[nn.Op]string{
	nn.OpMatMul: "MatMul", nn.OpAddBias: "Add", nn.OpAdd: "Add", nn.OpSub: "Sub", nn.OpMul: "Mul", nn.OpDiv: "Div",
	nn.OpMaximum: "Max", nn.OpMinimum: "Min",
	nn.OpRelu: "Relu", nn.OpTanh: "Tanh", nn.OpSigmoid: "Sigmoid", nn.OpSoftplus: "Softplus",
	nn.OpNeg: "Neg", nn.OpAbs: "Abs", nn.OpExp: "Exp", nn.OpLog: "Log", nn.OpSqrt: "Sqrt", nn.OpInverse: "Reciprocal",
}

// lowerings write the other ops. Each leaves its result under the node's name in the file.
var lowerings = map[nn.Op]func(w *writer, n nn.Node){
	nn.OpLeakyRelu: (*writer).leakyRelu,
	nn.OpSoftmax:   (*writer).softmax,
	nn.OpLog1p:     (*writer).log1p,
	nn.OpExpm1:     (*writer).expm1,
	nn.OpSquare:    (*writer).square,
	nn.OpConcat:    (*writer).concat,
	nn.OpSlice:     (*writer).slice,
	nn.OpSum:       (*writer).sum,
	nn.OpMean:      (*writer).mean,
	nn.OpMax:       (*writer).max,
	nn.OpCast:      (*writer).cast,
	nn.OpOneHot:    (*writer).oneHot,
	nn.OpClamp:     (*writer).clamp,
	nn.OpEmbed:     (*writer).embed,
	nn.OpDropNaN:   (*writer).dropNaN,
	nn.OpWithin:    (*writer).within,
	nn.OpBucket:    (*writer).bucket,
	nn.OpArgMax:    (*writer).argMax,
}

// lower writes the operators that compute n.
func (w *writer) lower(n nn.Node) error {
	if op := plain[n.Op]; op != "" {
		w.op(op, w.names[n.Name], nil, w.ins(n)...)
		return nil
	}
	switch n.Op {
	case nn.OpVocab:
		return w.vocab(n)
	case nn.OpLabel:
		return w.label(n)
	}
	write := lowerings[n.Op]
	if write == nil {
		return fmt.Errorf("op %s can't be written as ONNX operators", n.Op)
	}
	write(w, n)
	return nil
}

func (w *writer) leakyRelu(n nn.Node) {
	w.op("LeakyRelu", w.names[n.Name], attributes(float("alpha", n.Attr.Alpha)), w.in(n, 0))
}

func (w *writer) softmax(n nn.Node) {
	w.op("Softmax", w.names[n.Name], attributes(integer("axis", -1)), w.in(n, 0))
}

// log1p is log(1 + x), to 6e-8 of 1 + x.
func (w *writer) log1p(n nn.Node) {
	w.op("Log", w.names[n.Name], nil, w.inner(n, "sum", "Add", nil, w.in(n, 0), w.constant(n.Name+"/one", floats([]float32{1}))))
}

// expm1 is exp(x) - 1 = tanh(x/2) (exp(x) + 1), which is exact if x is near 0.
func (w *writer) expm1(n nn.Node) {
	half := w.inner(n, "half", "Mul", nil, w.in(n, 0), w.constant(n.Name+"/0.5", floats([]float32{0.5})))
	sum := w.inner(n, "sum", "Add", nil, w.inner(n, "exp", "Exp", nil, w.in(n, 0)), w.constant(n.Name+"/one", floats([]float32{1})))
	w.op("Mul", w.names[n.Name], nil, w.inner(n, "tanh", "Tanh", nil, half), sum)
}

func (w *writer) square(n nn.Node) { w.op("Mul", w.names[n.Name], nil, w.in(n, 0), w.in(n, 0)) }

func (w *writer) concat(n nn.Node) {
	w.op("Concat", w.names[n.Name], attributes(integer("axis", 1)), w.ins(n)...)
}

func (w *writer) slice(n nn.Node) {
	start := w.constant(n.Name+"/start", ints([]int64{int64(n.Attr.Start)}, 1))
	end := w.constant(n.Name+"/end", ints([]int64{int64(n.Attr.End)}, 1))
	w.op("Slice", w.names[n.Name], nil, w.in(n, 0), start, end, w.constant(n.Name+"/axis", ints([]int64{1}, 1)))
}

func (w *writer) sum(n nn.Node)  { w.reduce(n, "ReduceSum") }
func (w *writer) mean(n nn.Node) { w.reduce(n, "ReduceMean") }
func (w *writer) max(n nn.Node)  { w.reduce(n, "ReduceMax") }

func (w *writer) reduce(n nn.Node, op string) {
	axes := w.constant(n.Name+"/axes", ints([]int64{1}, 1))
	w.op(op, w.names[n.Name], attributes(integer("keepdims", 1)), w.in(n, 0), axes)
}

func (w *writer) cast(n nn.Node) { w.toFloat(w.names[n.Name], w.in(n, 0)) }

func (w *writer) toFloat(result, x string) string {
	return w.op("Cast", result, attributes(integer("to", int64(onnxpb.TensorProto_FLOAT))), x)
}

// dropNaN is 0 where x is NaN, else x.
func (w *writer) dropNaN(n nn.Node) {
	nan := w.inner(n, "nan", "IsNaN", nil, w.in(n, 0))
	w.op("Where", w.names[n.Name], nil, nan, w.constant(n.Name+"/zero", floats([]float32{0})), w.in(n, 0))
}

// flat gives x, of shape [batch, ...], the shape [batch, width] and the node's name. 0 copies the
// batch's size.
func (w *writer) flat(n nn.Node, x string) {
	shape := w.constant(n.Name+"/shape", ints([]int64{0, int64(w.types[n.Name].Width)}, 2))
	w.op("Reshape", w.names[n.Name], nil, x, shape)
}

func attributes(all ...*onnxpb.AttributeProto) []*onnxpb.AttributeProto { return all }

func float(name string, f float32) *onnxpb.AttributeProto {
	return &onnxpb.AttributeProto{Name: proto.String(name), Type: onnxpb.AttributeProto_FLOAT.Enum(), F: proto.Float32(f)}
}

func integer(name string, i int64) *onnxpb.AttributeProto {
	return &onnxpb.AttributeProto{Name: proto.String(name), Type: onnxpb.AttributeProto_INT.Enum(), I: proto.Int64(i)}
}

// oneHot compares each index with 0..depth-1: ONNX's own OneHot would count negative ones from the
// end.
func (w *writer) oneHot(n nn.Node) {
	count := make([]int64, n.Attr.Depth)
	for i := range count {
		count[i] = int64(i)
	}
	all := w.constant(n.Name+"/classes", ints(count, 1, 1, n.Attr.Depth))
	each := w.inner(n, "ids", "Unsqueeze", nil, w.in(n, 0), w.constant(n.Name+"/axes", ints([]int64{2}, 1)))
	w.flat(n, w.toFloat(w.fresh(n.Name+"/numbers"), w.inner(n, "equal", "Equal", nil, each, all)))
}

// embed looks rows up: [b,w] gives [b,w,d], and flat [b,w*d].
func (w *writer) embed(n nn.Node) {
	w.flat(n, w.inner(n, "rows", "Gather", attributes(integer("axis", 0)), w.in(n, 1), w.in(n, 0)))
}

// vocab looks strings up. If a token occurs twice, the first one counts.
func (w *writer) vocab(n nn.Node) error {
	keys := &onnxpb.AttributeProto{Name: proto.String("keys_strings"), Type: onnxpb.AttributeProto_STRINGS.Enum()}
	ids := &onnxpb.AttributeProto{Name: proto.String("values_int64s"), Type: onnxpb.AttributeProto_INTS.Enum()}
	seen := map[string]bool{}
	for i, token := range n.Attr.Vocabulary {
		if !utf8.ValidString(token) {
			return fmt.Errorf("token %d of the vocabulary, %q, is not UTF-8, as ONNX wants its strings", i, token)
		}
		if !seen[token] {
			keys.Strings, ids.Ints = append(keys.Strings, []byte(token)), append(ids.Ints, int64(i))
		}
		seen[token] = true
	}
	if len(seen) == 0 {
		w.unknown(n)
		return nil
	}
	w.ml = true
	w.op("LabelEncoder", w.names[n.Name], attributes(keys, ids, integer("default_int64", int64(n.Attr.Depth-1))), w.in(n, 0))
	w.file.Node[len(w.file.Node)-1].Domain = proto.String(mlDomain)
	return nil
}

// unknown is 0 for every string, as for an empty vocabulary, because LabelEncoder requires a key.
func (w *writer) unknown(n nn.Node) {
	zero := &onnxpb.AttributeProto{Name: proto.String("value"), Type: onnxpb.AttributeProto_TENSOR.Enum(), T: ints([]int64{0}, 1)}
	w.op("ConstantOfShape", w.names[n.Name], attributes(zero), w.inner(n, "shape", "Shape", nil, w.in(n, 0)))
}

// clamp is x where 0 <= x <= depth-2, else depth-1.
func (w *writer) clamp(n nn.Node) { w.keep(n, n.Attr.Depth-1, int64(n.Attr.Depth-1)) }

// within is x where 0 <= x <= depth-1, else the default.
func (w *writer) within(n nn.Node) { w.keep(n, n.Attr.Depth, n.Attr.Default) }

// keep is x where 0 <= x < count, else other.
func (w *writer) keep(n nn.Node, count int, other int64) {
	low := w.inner(n, "low", "GreaterOrEqual", nil, w.in(n, 0), w.constant(n.Name+"/first", ints([]int64{0})))
	high := w.inner(n, "high", "Less", nil, w.in(n, 0), w.constant(n.Name+"/count", ints([]int64{int64(count)})))
	known := w.inner(n, "known", "And", nil, low, high)
	w.op("Where", w.names[n.Name], nil, known, w.in(n, 0), w.constant(n.Name+"/other", ints([]int64{other})))
}

// bucket counts the boundaries that x is not below, so that NaN is above all.
func (w *writer) bucket(n nn.Node) {
	boundaries := w.constant(n.Name+"/boundaries", floats(n.Attr.Boundaries, 1, 1, len(n.Attr.Boundaries)))
	each := w.inner(n, "numbers", "Unsqueeze", nil, w.in(n, 0), w.constant(n.Name+"/axes", ints([]int64{2}, 1)))
	passed := w.inner(n, "passed", "Not", nil, w.inner(n, "below", "Less", nil, each, boundaries))
	count := w.inner(n, "ones", "Cast", attributes(integer("to", int64(onnxpb.TensorProto_INT64))), passed)
	axes := w.constant(n.Name+"/last", ints([]int64{2}, 1))
	w.op("ReduceSum", w.names[n.Name], attributes(integer("keepdims", 0)), count, axes)
}

// argMax takes NaN for the smallest number there is, as nn and TensorFlow do; ONNX does not specify
// it.
func (w *writer) argMax(n nn.Node) {
	least := w.constant(n.Name+"/least", floats([]float32{-math.MaxFloat32}))
	number := w.inner(n, "number", "Where", nil, w.inner(n, "nan", "IsNaN", nil, w.in(n, 0)), least, w.in(n, 0))
	finite := w.inner(n, "finite", "Max", nil, number, least)
	w.op("ArgMax", w.names[n.Name], attributes(integer("axis", 1), integer("keepdims", 1)), finite)
}

// label looks names up by their index.
func (w *writer) label(n nn.Node) error {
	names := &onnxpb.TensorProto{
		Dims: []int64{int64(len(n.Attr.Vocabulary))}, DataType: proto.Int32(int32(onnxpb.TensorProto_STRING)),
	}
	for i, name := range n.Attr.Vocabulary {
		if !utf8.ValidString(name) {
			return fmt.Errorf("name %d, %q, is not UTF-8, as ONNX wants its strings", i, name)
		}
		names.StringData = append(names.StringData, []byte(name))
	}
	w.op("Gather", w.names[n.Name], attributes(integer("axis", 0)), w.constant(n.Name+"/names", names), w.in(n, 0))
	return nil
}
