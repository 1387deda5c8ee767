package transform

import (
	"bytes"
	"encoding/binary"
	"fmt"

	tensorpb "github.com/wamuir/graft/tensorflow/core/framework/tensor_go_proto"
	shapepb "github.com/wamuir/graft/tensorflow/core/framework/tensor_shape_go_proto"
)

func buildConst(n *node) (kernel, error) {
	v, err := constant(n.attr("value").GetTensor())
	if err != nil {
		return nil, err
	}
	n.out = []dtype{v.dtype()}
	return func(c *call) error { c.out[0] = v; return nil }, n.takes(0)
}

// constant reads a tensor that stands in a graph: its bytes if it has some, else a typed list, whose last value fills the
// rest.
func constant(p *tensorpb.TensorProto) (tensor, error) {
	dims, err := fixedShape(p.GetTensorShape())
	if err != nil {
		return nil, err
	}
	switch p.GetDtype() {
	case float32Type:
		return decode(p, dims, p.GetFloatVal())
	case float64Type:
		return decode(p, dims, p.GetDoubleVal())
	case int8Type:
		return decode(p, dims, narrow[int8](p.GetIntVal()))
	case int16Type:
		return decode(p, dims, narrow[int16](p.GetIntVal()))
	case int32Type:
		return decode(p, dims, p.GetIntVal())
	case int64Type:
		return decode(p, dims, p.GetInt64Val())
	case uint8Type:
		return decode(p, dims, narrow[uint8](p.GetIntVal()))
	case uint16Type:
		return decode(p, dims, narrow[uint16](p.GetIntVal()))
	case uint32Type:
		return decode(p, dims, p.GetUint32Val())
	case uint64Type:
		return decode(p, dims, p.GetUint64Val())
	case boolType:
		return decode(p, dims, p.GetBoolVal())
	case stringType:
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

func decode[T element](p *tensorpb.TensorProto, dims []int, list []T) (tensor, error) {
	content := p.GetTensorContent()
	if len(content) == 0 {
		return repeatLast(dims, list)
	}
	a := &array[T]{dims: dims, data: nil}
	var zero T
	width := binary.Size(zero)
	if len(content)%width != 0 || len(content)/width != count(dims) {
		return nil, fmt.Errorf("constant of shape %v has %d bytes", dims, len(content))
	}
	a.data = make([]T, count(dims))
	if err := binary.Read(bytes.NewReader(content), binary.LittleEndian, a.data); err != nil {
		return nil, fmt.Errorf("constant of shape %v: %w", dims, err)
	}
	return a, nil
}

// maxRepeated bounds what a constant of few bytes grows to.
const maxRepeated = 1 << 22

func repeatLast[T element](dims []int, list []T) (tensor, error) {
	n := count(dims)
	if len(list) > n {
		return nil, fmt.Errorf("constant of shape %v has %d values", dims, len(list))
	}
	if n > maxRepeated && n > len(list) {
		return nil, fmt.Errorf("constant of shape %v has %d values that are not there", dims, n-len(list))
	}
	a := &array[T]{dims: dims, data: make([]T, n)}
	copy(a.data, list)
	if len(list) > 0 {
		for i := len(list); i < n; i++ {
			a.data[i] = list[len(list)-1]
		}
	}
	return a, nil
}

// fixedShape is a shape with all its dimensions known.
func fixedShape(p *shapepb.TensorShapeProto) ([]int, error) {
	if p.GetUnknownRank() {
		return nil, fmt.Errorf("constant has no shape")
	}
	dims := shapeOf(p)
	return dims, allow(dims, maxElements)
}

// shapeOf is a shape; -1 is a dimension that is not known before the data are there.
func shapeOf(p *shapepb.TensorShapeProto) []int {
	dims := make([]int, len(p.GetDim()))
	for i, d := range p.GetDim() {
		dims[i] = int(d.GetSize())
	}
	return dims
}
