package onnx

import (
	"fmt"

	"google.golang.org/protobuf/proto"

	"github.com/stoker-ml/stoker/compute/export/onnx/onnxpb"
	"github.com/stoker-ml/stoker/compute/nn"
)

// plain are the ops that are an operator each, without attributes. Operators on two operands repeat
// the narrower one, as the ops do.
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

// expm1 is exp(x) - 1 = tanh(x/2) (exp(x) + 1), which keeps its digits where x is near 0.
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
