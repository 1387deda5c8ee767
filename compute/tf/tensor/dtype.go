package tensor

import typepb "github.com/wamuir/graft/tensorflow/core/framework/types_go_proto"

// DType is TensorFlow's enumeration of element types. Its String is TensorFlow's name, such as
// DT_FLOAT.
type DType = typepb.DataType

// The supported element types, and the types of values that aren't tensors.
const (
	Float32  = typepb.DataType_DT_FLOAT
	Float64  = typepb.DataType_DT_DOUBLE
	Int8     = typepb.DataType_DT_INT8
	Int16    = typepb.DataType_DT_INT16
	Int32    = typepb.DataType_DT_INT32
	Int64    = typepb.DataType_DT_INT64
	Uint8    = typepb.DataType_DT_UINT8
	Uint16   = typepb.DataType_DT_UINT16
	Uint32   = typepb.DataType_DT_UINT32
	Uint64   = typepb.DataType_DT_UINT64
	Bool     = typepb.DataType_DT_BOOL
	String   = typepb.DataType_DT_STRING
	Resource = typepb.DataType_DT_RESOURCE // a table
	Variant  = typepb.DataType_DT_VARIANT  // a list of tensors
)

// Element is a type of a tensor's elements.
type Element interface {
	float32 | float64 | int8 | int16 | int32 | int64 | uint8 | uint16 | uint32 | uint64 | bool | string
}

// TypeOf returns the DType of T.
func TypeOf[T Element]() DType {
	var zero T
	switch any(zero).(type) {
	case float32:
		return Float32
	case float64:
		return Float64
	case int8:
		return Int8
	case int16:
		return Int16
	case int32:
		return Int32
	case int64:
		return Int64
	case uint8:
		return Uint8
	case uint16:
		return Uint16
	case uint32:
		return Uint32
	case uint64:
		return Uint64
	case bool:
		return Bool
	default:
		return String
	}
}

// Empty returns a tensor of that type without elements, or nil for an unsupported type.
func Empty(d DType) Tensor {
	switch d {
	case Float32:
		return &Array[float32]{}
	case Float64:
		return &Array[float64]{}
	case Int8:
		return &Array[int8]{}
	case Int16:
		return &Array[int16]{}
	case Int32:
		return &Array[int32]{}
	case Int64:
		return &Array[int64]{}
	case Uint8:
		return &Array[uint8]{}
	case Uint16:
		return &Array[uint16]{}
	case Uint32:
		return &Array[uint32]{}
	case Uint64:
		return &Array[uint64]{}
	case Bool:
		return &Array[bool]{}
	case String:
		return &Array[string]{}
	}
	return nil
}
