package ops

import (
	"bytes"
	"encoding/binary"
	"fmt"

	tensorpb "github.com/wamuir/graft/tensorflow/core/framework/tensor_go_proto"
	shapepb "github.com/wamuir/graft/tensorflow/core/framework/tensor_shape_go_proto"
)

func buildConst(n *Node) (Kernel, error) {
	v, err := Constant(n.attr("value").GetTensor(), n.Budget)
	if err != nil {
		return nil, err
	}
	n.Out = []DType{v.DType()}
	return func(c *Call) error { c.Out[0] = v; return nil }, n.takes(0)
}

// Constant reads a tensor that stands in a graph: its bytes if it has some, else a typed list, whose last value fills the
// rest. Its bytes are charged to b.
func Constant(p *tensorpb.TensorProto, b *Budget) (Tensor, error) {
	dims, err := fixedShape(p.GetTensorShape())
	if err != nil {
		return nil, err
	}
	if like := newTensor(p.GetDtype()); like != nil {
		bytes := arrayBytes + shapeBytes(dims, like.width())
		for _, s := range p.GetStringVal() {
			bytes += int64(len(s))
		}
		if err := b.Charge(bytes); err != nil {
			return nil, err
		}
	}
	switch p.GetDtype() {
	case Float32:
		return decode(p, dims, p.GetFloatVal())
	case Float64:
		return decode(p, dims, p.GetDoubleVal())
	case Int8:
		return decode(p, dims, narrow[int8](p.GetIntVal()))
	case Int16:
		return decode(p, dims, narrow[int16](p.GetIntVal()))
	case Int32:
		return decode(p, dims, p.GetIntVal())
	case Int64:
		return decode(p, dims, p.GetInt64Val())
	case Uint8:
		return decode(p, dims, narrow[uint8](p.GetIntVal()))
	case Uint16:
		return decode(p, dims, narrow[uint16](p.GetIntVal()))
	case Uint32:
		return decode(p, dims, p.GetUint32Val())
	case Uint64:
		return decode(p, dims, p.GetUint64Val())
	case Bool:
		return decode(p, dims, p.GetBoolVal())
	case String:
		list := make([]string, len(p.GetStringVal()))
		for i, s := range p.GetStringVal() {
			list[i] = string(s)
		}
		return repeatLast(dims, list)
	}
	return nil, fmt.Errorf("constants of type %v can't be read", p.GetDtype())
}

func narrow[T int8 | int16 | uint8 | uint16](list []int32) []T {
	narrowed := make([]T, len(list))
	for i, v := range list {
		narrowed[i] = T(v)
	}
	return narrowed
}

func decode[T Element](p *tensorpb.TensorProto, dims []int, list []T) (Tensor, error) {
	content := p.GetTensorContent()
	if len(content) == 0 {
		return repeatLast(dims, list)
	}
	a := &Array[T]{Dims: dims, Data: nil}
	var zero T
	width := binary.Size(zero)
	if len(content)%width != 0 || len(content)/width != Count(dims) {
		return nil, fmt.Errorf("constant of shape %v has %d bytes", dims, len(content))
	}
	a.Data = make([]T, Count(dims))
	if err := binary.Read(bytes.NewReader(content), binary.LittleEndian, a.Data); err != nil {
		return nil, fmt.Errorf("constant of shape %v: %w", dims, err)
	}
	return a, nil
}

// maxRepeated bounds what a constant of few bytes grows to.
const maxRepeated = 1 << 22

func repeatLast[T Element](dims []int, list []T) (Tensor, error) {
	n := Count(dims)
	if len(list) > n {
		return nil, fmt.Errorf("constant of shape %v has %d values", dims, len(list))
	}
	if n > maxRepeated && n > len(list) {
		return nil, fmt.Errorf("constant of shape %v has %d values that are not there", dims, n-len(list))
	}
	a := &Array[T]{Dims: dims, Data: make([]T, n)}
	copy(a.Data, list)
	if len(list) > 0 {
		for i := len(list); i < n; i++ {
			a.Data[i] = list[len(list)-1]
		}
	}
	return a, nil
}

// fixedShape is a shape with all its dimensions known.
func fixedShape(p *shapepb.TensorShapeProto) ([]int, error) {
	if p.GetUnknownRank() {
		return nil, fmt.Errorf("constant has no shape")
	}
	dims := ShapeOf(p)
	return dims, allow(dims, MaxElements)
}

// ShapeOf is a shape; -1 is a dimension that is not known before the data are there.
func ShapeOf(p *shapepb.TensorShapeProto) []int {
	dims := make([]int, len(p.GetDim()))
	for i, d := range p.GetDim() {
		dims[i] = int(d.GetSize())
	}
	return dims
}
