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

// hparamsValue has its content in the metadata. The tensor, without elements, is present because a
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

// Bucket counts values from Left up to, not including, Right; the last bucket of a histogram
// includes its right edge.
type Bucket struct {
	Left, Right float64
	Count       float64
}

// bucketCount is tf.summary.histogram's.
const bucketCount = 30

// Buckets spreads values over n buckets of equal width, as tf.summary.histogram does
// (tensorboard/plugins/histogram/summary_v2.py):
//
//	width = (max - min) / n
//	i     = min(floor((x - min) / width), n - 1)
//
// If all values are the same they are in the last bucket, and every edge is that value; without
// values everything is zero. NaN and infinities, with which TensorFlow's histogram is meaningless,
// are left out.
func Buckets(values []float32, n int) []Bucket {
	buckets := make([]Bucket, n)
	low, high, count := span(values)
	if n == 0 || count == 0 {
		return buckets
	}
	width := (high - low) / float64(n)
	for i := range buckets {
		buckets[i].Left, buckets[i].Right = low+float64(i)*width, low+float64(i+1)*width
	}
	buckets[n-1].Right = high
	if width == 0 {
		buckets[n-1].Count = float64(count)
		return buckets
	}
	for _, v := range values {
		if x := float64(v); finite(x) {
			buckets[min(int((x-low)/width), n-1)].Count++
		}
	}
	return buckets
}

// span returns the least and the greatest of the finite values, and how many those are.
func span(values []float32) (low, high float64, count int) {
	low, high = math.Inf(1), math.Inf(-1)
	for _, v := range values {
		if x := float64(v); finite(x) {
			low, high = min(low, x), max(high, x)
			count++
		}
	}
	return low, high, count
}

func finite(x float64) bool { return !math.IsNaN(x) && !math.IsInf(x, 0) }
