package onnx

import (
	"fmt"
	"math"
	"unicode/utf8"

	"google.golang.org/protobuf/proto"

	"github.com/stoker-ml/stoker/compute/export/onnx/onnxpb"
	"github.com/stoker-ml/stoker/compute/nn"
)

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

// argMax takes NaN for the smallest number there is, as nn and TensorFlow do; ONNX leaves open what
// it is.
func (w *writer) argMax(n nn.Node) {
	least := w.constant(n.Name+"/least", floats([]float32{-math.MaxFloat32}))
	number := w.inner(n, "number", "Where", nil, w.inner(n, "nan", "IsNaN", nil, w.in(n, 0)), least, w.in(n, 0))
	finite := w.inner(n, "finite", "Max", nil, number, least)
	w.op("ArgMax", w.names[n.Name], attributes(integer("axis", 1), integer("keepdims", 1)), finite)
}

// label looks names up by their place.
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
