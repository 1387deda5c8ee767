package tensor

import (
	"encoding/binary"
	"errors"
	"fmt"

	tensorpb "github.com/wamuir/graft/tensorflow/core/framework/tensor_go_proto"
)

// maxRepeated limits the elements that FromProto makes without a value in the message.
const maxRepeated = 1 << 22

// FromBytes returns the tensor whose elements are data, little endian and row major. The dtypes are
// those of Empty, except String.
func FromBytes(d DType, shape []int, data []byte) (Tensor, error) {
	switch d {
	case Float32:
		return decode[float32](shape, data)
	case Float64:
		return decode[float64](shape, data)
	case Int8:
		return decode[int8](shape, data)
	case Int16:
		return decode[int16](shape, data)
	case Int32:
		return decode[int32](shape, data)
	case Int64:
		return decode[int64](shape, data)
	case Uint8:
		return decode[uint8](shape, data)
	case Uint16:
		return decode[uint16](shape, data)
	case Uint32:
		return decode[uint32](shape, data)
	case Uint64:
		return decode[uint64](shape, data)
	case Bool:
		return decode[bool](shape, data)
	}
	return nil, fmt.Errorf("tensors of type %v can't be read", d)
}

func decode[T Element](dims []int, data []byte) (Tensor, error) {
	if n := Count(dims); int64(len(data))%BytesOf[T]() != 0 || int64(len(data))/BytesOf[T]() != int64(n) {
		return nil, fmt.Errorf("tensor of shape %v has %d bytes", dims, len(data))
	}
	a := &Array[T]{Dims: dims, Data: make([]T, Count(dims))}
	if _, err := binary.Decode(data, binary.LittleEndian, a.Data); err != nil {
		return nil, fmt.Errorf("tensor of shape %v: %w", dims, err)
	}
	return a, nil
}

// FromProto reads a tensor of a graph: its bytes if it has any, else a typed list, whose last value
// fills the rest of the shape. The shape must be known, with at most MaxElements elements.
func FromProto(p *tensorpb.TensorProto) (Tensor, error) {
	dims, err := FixedShape(p)
	if err != nil {
		return nil, err
	}
	if content := p.GetTensorContent(); len(content) > 0 && p.GetDtype() != String {
		return FromBytes(p.GetDtype(), dims, content)
	}
	switch p.GetDtype() {
	case Float32:
		return repeatLast(dims, p.GetFloatVal())
	case Float64:
		return repeatLast(dims, p.GetDoubleVal())
	case Int8:
		return repeatLast(dims, narrow[int8](p.GetIntVal()))
	case Int16:
		return repeatLast(dims, narrow[int16](p.GetIntVal()))
	case Int32:
		return repeatLast(dims, p.GetIntVal())
	case Int64:
		return repeatLast(dims, p.GetInt64Val())
	case Uint8:
		return repeatLast(dims, narrow[uint8](p.GetIntVal()))
	case Uint16:
		return repeatLast(dims, narrow[uint16](p.GetIntVal()))
	case Uint32:
		return repeatLast(dims, p.GetUint32Val())
	case Uint64:
		return repeatLast(dims, p.GetUint64Val())
	case Bool:
		return repeatLast(dims, p.GetBoolVal())
	case String:
		list := make([]string, len(p.GetStringVal()))
		for i, s := range p.GetStringVal() {
			list[i] = string(s)
		}
		return repeatLast(dims, list)
	}
	return nil, fmt.Errorf("tensors of type %v can't be read", p.GetDtype())
}

// FixedShape returns the shape of p, or an error if a dimension is unknown or the tensor has more
// than MaxElements elements.
func FixedShape(p *tensorpb.TensorProto) ([]int, error) {
	if p.GetTensorShape().GetUnknownRank() {
		return nil, errors.New("tensor has no shape")
	}
	dims := ShapeOf(p.GetTensorShape())
	return dims, CheckShape(dims, MaxElements)
}

func narrow[T int8 | int16 | uint8 | uint16](list []int32) []T {
	narrowed := make([]T, len(list))
	for i, v := range list {
		narrowed[i] = T(v)
	}
	return narrowed
}

func repeatLast[T Element](dims []int, list []T) (Tensor, error) {
	n := Count(dims)
	if len(list) > n {
		return nil, fmt.Errorf("tensor of shape %v has %d values", dims, len(list))
	}
	if n > maxRepeated && n > len(list) {
		return nil, fmt.Errorf("tensor of shape %v has %d values that are not there", dims, n-len(list))
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
