package tfevents

import (
	"encoding/binary"
	"math"

	summarypb "github.com/wamuir/graft/tensorflow/core/framework/summary_go_proto"
	tensorpb "github.com/wamuir/graft/tensorflow/core/framework/tensor_go_proto"
	shapepb "github.com/wamuir/graft/tensorflow/core/framework/tensor_shape_go_proto"
	typespb "github.com/wamuir/graft/tensorflow/core/framework/types_go_proto"
)

// TensorBoard's plugins, as the metadata of a value names them.
const (
	pluginScalars    = "scalars"
	pluginHistograms = "histograms"
	pluginText       = "text"
	pluginHParams    = "hparams"
)

func scalarValue(tag string, value float64) *summarypb.Summary_Value {
	tensor := &tensorpb.TensorProto{Dtype: typespb.DataType_DT_FLOAT, TensorShape: shape(), FloatVal: []float32{float32(value)}}
	return taggedValue(tag, pluginScalars, summarypb.DataClass_DATA_CLASS_SCALAR, tensor)
}

func histogramValue(tag string, buckets []Bucket) *summarypb.Summary_Value {
	content := make([]byte, 0, 24*len(buckets))
	for _, b := range buckets {
		for _, x := range []float64{b.Left, b.Right, b.Count} {
			content = binary.LittleEndian.AppendUint64(content, math.Float64bits(x))
		}
	}
	tensor := &tensorpb.TensorProto{
		Dtype: typespb.DataType_DT_DOUBLE, TensorShape: shape(int64(len(buckets)), 3), TensorContent: content,
	}
	return taggedValue(tag, pluginHistograms, summarypb.DataClass_DATA_CLASS_TENSOR, tensor)
}

func textValue(tag, text string) *summarypb.Summary_Value {
	tensor := &tensorpb.TensorProto{Dtype: typespb.DataType_DT_STRING, TensorShape: shape(), StringVal: [][]byte{[]byte(text)}}
	return taggedValue(tag, pluginText, summarypb.DataClass_DATA_CLASS_TENSOR, tensor)
}

// hparamsValue has all it says in its metadata. The tensor, of no elements, is there because a
// value must have one.
func hparamsValue(tag string, content []byte) *summarypb.Summary_Value {
	tensor := &tensorpb.TensorProto{Dtype: typespb.DataType_DT_FLOAT, TensorShape: shape(0)}
	v := taggedValue(tag, pluginHParams, summarypb.DataClass_DATA_CLASS_UNKNOWN, tensor)
	v.Metadata.PluginData.Content = content
	return v
}

func taggedValue(tag, plugin string, class summarypb.DataClass, tensor *tensorpb.TensorProto) *summarypb.Summary_Value {
	return &summarypb.Summary_Value{
		Tag:   tag,
		Value: &summarypb.Summary_Value_Tensor{Tensor: tensor},
		Metadata: &summarypb.SummaryMetadata{
			PluginData: &summarypb.SummaryMetadata_PluginData{PluginName: plugin}, DataClass: class,
		},
	}
}

func shape(sizes ...int64) *shapepb.TensorShapeProto {
	s := &shapepb.TensorShapeProto{}
	for _, size := range sizes {
		s.Dim = append(s.Dim, &shapepb.TensorShapeProto_Dim{Size: size})
	}
	return s
}
