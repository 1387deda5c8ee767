package savedmodel

import (
	"encoding/binary"

	attrpb "github.com/wamuir/graft/tensorflow/core/framework/attr_value_go_proto"
	tensorpb "github.com/wamuir/graft/tensorflow/core/framework/tensor_go_proto"
	shapepb "github.com/wamuir/graft/tensorflow/core/framework/tensor_shape_go_proto"
	typepb "github.com/wamuir/graft/tensorflow/core/framework/types_go_proto"

	"github.com/stoker-ml/stoker/compute/nn"
)

// The element types of models and transform graphs.
const (
	float32Type  = typepb.DataType_DT_FLOAT
	int32Type    = typepb.DataType_DT_INT32
	int64Type    = typepb.DataType_DT_INT64
	stringType   = typepb.DataType_DT_STRING
	resourceType = typepb.DataType_DT_RESOURCE
)

func dtypeOf(k nn.ValueKind) typepb.DataType {
	switch k {
	case nn.Int64:
		return int64Type
	case nn.String:
		return stringType
	default:
		return float32Type
	}
}

// shapeProto returns a shape; -1 is a dimension that is unknown until there are data.
func shapeProto(dims ...int) *shapepb.TensorShapeProto {
	shape := &shapepb.TensorShapeProto{}
	for _, d := range dims {
		shape.Dim = append(shape.Dim, &shapepb.TensorShapeProto_Dim{Size: int64(d)})
	}
	return shape
}

// attrs are the attributes of a node.
type attrs map[string]*attrpb.AttrValue

func typeAttr(t typepb.DataType) *attrpb.AttrValue {
	return &attrpb.AttrValue{Value: &attrpb.AttrValue_Type{Type: t}}
}

func intAttr(i int) *attrpb.AttrValue {
	return &attrpb.AttrValue{Value: &attrpb.AttrValue_I{I: int64(i)}}
}

func floatAttr(f float32) *attrpb.AttrValue {
	return &attrpb.AttrValue{Value: &attrpb.AttrValue_F{F: f}}
}

func boolAttr(b bool) *attrpb.AttrValue {
	return &attrpb.AttrValue{Value: &attrpb.AttrValue_B{B: b}}
}

func stringAttr(s string) *attrpb.AttrValue {
	return &attrpb.AttrValue{Value: &attrpb.AttrValue_S{S: []byte(s)}}
}

func shapeAttr(shape *shapepb.TensorShapeProto) *attrpb.AttrValue {
	return &attrpb.AttrValue{Value: &attrpb.AttrValue_Shape{Shape: shape}}
}

func tensorAttr(t *tensorpb.TensorProto) *attrpb.AttrValue {
	return &attrpb.AttrValue{Value: &attrpb.AttrValue_Tensor{Tensor: t}}
}

func functionAttr(name string) *attrpb.AttrValue {
	return &attrpb.AttrValue{Value: &attrpb.AttrValue_Func{Func: &attrpb.NameAttrList{Name: name}}}
}

func typesAttr(types ...typepb.DataType) *attrpb.AttrValue {
	return listAttr(&attrpb.AttrValue_ListValue{Type: types})
}

func shapesAttr(shapes []*shapepb.TensorShapeProto) *attrpb.AttrValue {
	return listAttr(&attrpb.AttrValue_ListValue{Shape: shapes})
}

func listAttr(list *attrpb.AttrValue_ListValue) *attrpb.AttrValue {
	return &attrpb.AttrValue{Value: &attrpb.AttrValue_List{List: list}}
}

func floatConst(v float32) *tensorpb.TensorProto {
	return &tensorpb.TensorProto{Dtype: float32Type, TensorShape: shapeProto(), FloatVal: []float32{v}}
}

func int64Const(v int64) *tensorpb.TensorProto {
	return &tensorpb.TensorProto{Dtype: int64Type, TensorShape: shapeProto(), Int64Val: []int64{v}}
}

func int32Const(v int) *tensorpb.TensorProto {
	return &tensorpb.TensorProto{Dtype: int32Type, TensorShape: shapeProto(), IntVal: []int32{int32(v)}}
}

// shapeConst returns a shape as a constant for ops: a list of int32.
func shapeConst(dims ...int) *tensorpb.TensorProto {
	content := []byte{}
	for _, d := range dims {
		content = binary.LittleEndian.AppendUint32(content, uint32(int32(d)))
	}
	return &tensorpb.TensorProto{Dtype: int32Type, TensorShape: shapeProto(len(dims)), TensorContent: content}
}

func stringConst(v string) *tensorpb.TensorProto {
	return &tensorpb.TensorProto{Dtype: stringType, TensorShape: shapeProto(), StringVal: [][]byte{[]byte(v)}}
}

func stringsConst(values []string) *tensorpb.TensorProto {
	t := &tensorpb.TensorProto{Dtype: stringType, TensorShape: shapeProto(len(values))}
	for _, v := range values {
		t.StringVal = append(t.StringVal, []byte(v))
	}
	return t
}

func int64sConst(values []int64) *tensorpb.TensorProto {
	content := []byte{}
	for _, v := range values {
		content = binary.LittleEndian.AppendUint64(content, uint64(v))
	}
	return &tensorpb.TensorProto{Dtype: int64Type, TensorShape: shapeProto(len(values)), TensorContent: content}
}
