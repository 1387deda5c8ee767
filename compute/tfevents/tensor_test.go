package tfevents

import (
	"strings"
	"testing"

	summarypb "github.com/wamuir/graft/tensorflow/core/framework/summary_go_proto"
	tensorpb "github.com/wamuir/graft/tensorflow/core/framework/tensor_go_proto"
	typespb "github.com/wamuir/graft/tensorflow/core/framework/types_go_proto"
)

func TestScalarsOfEveryTypeOfNumbersAreRead(t *testing.T) {
	t.Parallel()
	for name, tensor := range map[string]*tensorpb.TensorProto{
		"float":         {Dtype: typespb.DataType_DT_FLOAT, FloatVal: []float32{-2}},
		"double":        {Dtype: typespb.DataType_DT_DOUBLE, DoubleVal: []float64{-2}},
		"int32":         {Dtype: typespb.DataType_DT_INT32, IntVal: []int32{-2}},
		"int64":         {Dtype: typespb.DataType_DT_INT64, Int64Val: []int64{-2}},
		"float bytes":   {Dtype: typespb.DataType_DT_FLOAT, TensorContent: []byte{0, 0, 0, 0xc0}},
		"double bytes":  {Dtype: typespb.DataType_DT_DOUBLE, TensorContent: []byte{0, 0, 0, 0, 0, 0, 0, 0xc0}},
		"int32 bytes":   {Dtype: typespb.DataType_DT_INT32, TensorContent: []byte{0xfe, 0xff, 0xff, 0xff}},
		"shape of ones": {Dtype: typespb.DataType_DT_FLOAT, TensorShape: shape(1, 1), FloatVal: []float32{-2}},
	} {
		v, err := decodeSummary(taggedValue("x", pluginScalars, summarypb.DataClass_DATA_CLASS_SCALAR, tensor))
		if err != nil || v.Kind != KindScalar || v.Scalar != -2 {
			t.Errorf("%s: %+v, %v; expected -2", name, v, err)
		}
	}
}

// A few bytes must not need much memory or cause a panic.
func TestATensorThatIsNotAsItSaysIsRefused(t *testing.T) {
	t.Parallel()
	one := []float32{1}
	for name, c := range map[string]struct {
		tensor *tensorpb.TensorProto
		plugin string
		want   string
	}{
		"vast":          {&tensorpb.TensorProto{Dtype: 1, TensorShape: shape(65536, 65536), FloatVal: one}, pluginHistograms, "at most 65536 elements"},
		"long":          {&tensorpb.TensorProto{Dtype: 1, TensorShape: shape(1 << 40), FloatVal: one}, pluginScalars, "at most 65536 elements"},
		"below zero":    {&tensorpb.TensorProto{Dtype: 1, TensorShape: shape(-1), FloatVal: one}, pluginScalars, "at most 65536 elements"},
		"too few":       {&tensorpb.TensorProto{Dtype: 1, TensorShape: shape(2)}, pluginScalars, "has 0 elements"},
		"too many":      {&tensorpb.TensorProto{Dtype: 1, FloatVal: []float32{1, 2}}, pluginScalars, "has 2 elements"},
		"two numbers":   {&tensorpb.TensorProto{Dtype: 1, TensorShape: shape(2), FloatVal: []float32{1, 2}}, pluginScalars, "expected one number"},
		"half a number": {&tensorpb.TensorProto{Dtype: 1, TensorContent: []byte{1}}, pluginScalars, "1 bytes"},
		"no histogram":  {&tensorpb.TensorProto{Dtype: 1, TensorShape: shape(2, 2), FloatVal: one}, pluginHistograms, "expected a tensor [k, 3]"},
		"text":          {&tensorpb.TensorProto{Dtype: typespb.DataType_DT_STRING}, pluginScalars, "DT_STRING"},
		"no text":       {&tensorpb.TensorProto{Dtype: 1}, pluginText, "expected strings"},
	} {
		_, err := decodeSummary(taggedValue("x", c.plugin, 0, c.tensor))
		if err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: error is %v, expected %q in it", name, err, c.want)
		}
	}
}
