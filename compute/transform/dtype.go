package transform

import typepb "github.com/wamuir/graft/tensorflow/core/framework/types_go_proto"

// dtype is TensorFlow's name of an element type.
type dtype = typepb.DataType

// The element types that are computed with.
const (
	float32Type  = typepb.DataType_DT_FLOAT
	float64Type  = typepb.DataType_DT_DOUBLE
	int8Type     = typepb.DataType_DT_INT8
	int16Type    = typepb.DataType_DT_INT16
	int32Type    = typepb.DataType_DT_INT32
	int64Type    = typepb.DataType_DT_INT64
	uint8Type    = typepb.DataType_DT_UINT8
	uint16Type   = typepb.DataType_DT_UINT16
	uint32Type   = typepb.DataType_DT_UINT32
	uint64Type   = typepb.DataType_DT_UINT64
	boolType     = typepb.DataType_DT_BOOL
	stringType   = typepb.DataType_DT_STRING
	resourceType = typepb.DataType_DT_RESOURCE // a table
	variantType  = typepb.DataType_DT_VARIANT  // a list of tensors
)

// The groups that ops are made for.
type (
	integer interface {
		int8 | int16 | int32 | int64 | uint8 | uint16 | uint32 | uint64
	}
	floating interface{ float32 | float64 }
	number   interface{ integer | floating }
	element  interface{ number | bool | string }
)

// typeOf is the dtype of T.
func typeOf[T element]() dtype {
	var zero T
	switch any(zero).(type) {
	case float32:
		return float32Type
	case float64:
		return float64Type
	case int8:
		return int8Type
	case int16:
		return int16Type
	case int32:
		return int32Type
	case int64:
		return int64Type
	case uint8:
		return uint8Type
	case uint16:
		return uint16Type
	case uint32:
		return uint32Type
	case uint64:
		return uint64Type
	case bool:
		return boolType
	default:
		return stringType
	}
}

// newTensor is an empty tensor of that type, nil for a type that isn't computed with.
func newTensor(d dtype) tensor {
	switch d {
	case float32Type:
		return &array[float32]{}
	case float64Type:
		return &array[float64]{}
	case int8Type:
		return &array[int8]{}
	case int16Type:
		return &array[int16]{}
	case int32Type:
		return &array[int32]{}
	case int64Type:
		return &array[int64]{}
	case uint8Type:
		return &array[uint8]{}
	case uint16Type:
		return &array[uint16]{}
	case uint32Type:
		return &array[uint32]{}
	case uint64Type:
		return &array[uint64]{}
	case boolType:
		return &array[bool]{}
	case stringType:
		return &array[string]{}
	}
	return nil
}
