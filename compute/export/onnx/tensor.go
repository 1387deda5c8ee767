package onnx

import (
	"encoding/binary"
	"math"

	"google.golang.org/protobuf/proto"

	"github.com/stoker-ml/stoker/compute/export/onnx/onnxpb"
	"github.com/stoker-ml/stoker/compute/nn"
)

// batch names the dimension that counts rows.
const batch = "batch"

// floats is a tensor of float32; without a shape a scalar.
func floats(values []float32, shape ...int) *onnxpb.TensorProto {
	raw := make([]byte, 0, 4*len(values))
	for _, v := range values {
		raw = binary.LittleEndian.AppendUint32(raw, math.Float32bits(v))
	}
	return tensor(onnxpb.TensorProto_FLOAT, raw, shape)
}

// ints is a tensor of int64; without a shape a scalar.
func ints(values []int64, shape ...int) *onnxpb.TensorProto {
	raw := make([]byte, 0, 8*len(values))
	for _, v := range values {
		raw = binary.LittleEndian.AppendUint64(raw, uint64(v))
	}
	return tensor(onnxpb.TensorProto_INT64, raw, shape)
}

func tensor(dtype onnxpb.TensorProto_DataType, raw []byte, shape []int) *onnxpb.TensorProto {
	t := &onnxpb.TensorProto{DataType: proto.Int32(int32(dtype)), RawData: raw}
	for _, d := range shape {
		t.Dims = append(t.Dims, int64(d))
	}
	return t
}

// value declares an input or an output of shape [batch, width].
func value(name string, t nn.Type) *onnxpb.ValueInfoProto {
	dtypes := map[nn.ValueKind]onnxpb.TensorProto_DataType{
		nn.Float32: onnxpb.TensorProto_FLOAT, nn.Int64: onnxpb.TensorProto_INT64, nn.String: onnxpb.TensorProto_STRING,
	}
	rows := &onnxpb.TensorShapeProto_Dimension{Value: &onnxpb.TensorShapeProto_Dimension_DimParam{DimParam: batch}}
	columns := &onnxpb.TensorShapeProto_Dimension{Value: &onnxpb.TensorShapeProto_Dimension_DimValue{DimValue: int64(t.Width)}}
	return &onnxpb.ValueInfoProto{Name: proto.String(name), Type: &onnxpb.TypeProto{
		Value: &onnxpb.TypeProto_TensorType{TensorType: &onnxpb.TypeProto_Tensor{
			ElemType: proto.Int32(int32(dtypes[t.Kind])),
			Shape:    &onnxpb.TensorShapeProto{Dim: []*onnxpb.TensorShapeProto_Dimension{rows, columns}},
		}},
	}}
}
