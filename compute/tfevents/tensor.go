package tfevents

import (
	"encoding/binary"
	"fmt"
	"math"

	tensorpb "github.com/wamuir/graft/tensorflow/core/framework/tensor_go_proto"
	typespb "github.com/wamuir/graft/tensorflow/core/framework/types_go_proto"
)

// maxElements is how many elements a tensor of an event may have to be decoded: histograms have a
// hundred.
const maxElements = 1 << 16

// decodeTensor decodes the content that the plugin's name promises from a tensor. A tensor of
// another plugin stays KindOther.
func (v *Value) decodeTensor(t *tensorpb.TensorProto) error {
	switch v.Plugin {
	case pluginScalars:
		x, err := numbers(t)
		if err != nil {
			return fmt.Errorf("scalar: %w", err)
		}
		if len(x) != 1 {
			return fmt.Errorf("scalar: expected one number, got %d", len(x))
		}
		v.Kind, v.Scalar = KindScalar, x[0]
	case pluginHistograms:
		buckets, err := buckets(t)
		if err != nil {
			return fmt.Errorf("histogram: %w", err)
		}
		v.Kind, v.Buckets = KindHistogram, buckets
	case pluginText:
		if t.GetDtype() != typespb.DataType_DT_STRING {
			return fmt.Errorf("text: expected strings, got %v", t.GetDtype())
		}
		v.Kind = KindText
		for _, s := range t.GetStringVal() {
			v.Text = append(v.Text, string(s))
		}
	}
	return nil
}

// buckets reads a tensor [k, 3] of left edge, right edge and count.
func buckets(t *tensorpb.TensorProto) ([]Bucket, error) {
	dims := t.GetTensorShape().GetDim()
	x, err := numbers(t)
	if err != nil {
		return nil, err
	}
	if len(dims) != 2 || dims[1].GetSize() != 3 || int64(len(x)) != 3*dims[0].GetSize() {
		return nil, fmt.Errorf("expected a tensor [k, 3], got %d numbers of shape %v", len(x), sizes(t))
	}
	buckets := make([]Bucket, len(x)/3)
	for i := range buckets {
		buckets[i] = Bucket{x[3*i], x[3*i+1], x[3*i+2]}
	}
	return buckets, nil
}

func sizes(t *tensorpb.TensorProto) (sizes []int64) {
	for _, d := range t.GetTensorShape().GetDim() {
		sizes = append(sizes, d.GetSize())
	}
	return sizes
}

// numbers returns the elements of a numeric tensor, from its content or from the list of its type,
// whose last element stands for all missing ones (tensor.proto).
func numbers(t *tensorpb.TensorProto) ([]float64, error) {
	count := int64(1)
	for _, size := range sizes(t) {
		if size < 0 || size > maxElements || count*size > maxElements {
			return nil, fmt.Errorf("tensor of shape %v: expected at most %d elements", sizes(t), maxElements)
		}
		count *= size
	}
	listed, err := elements(t)
	if err != nil {
		return nil, err
	}
	if int64(len(listed)) > count || len(listed) == 0 && count > 0 {
		return nil, fmt.Errorf("tensor of shape %v has %d elements of %v", sizes(t), len(listed), t.GetDtype())
	}
	for int64(len(listed)) < count {
		listed = append(listed, listed[len(listed)-1])
	}
	return listed, nil
}

func elements(t *tensorpb.TensorProto) ([]float64, error) {
	content := t.GetTensorContent()
	switch t.GetDtype() {
	case typespb.DataType_DT_FLOAT:
		return either(t.GetFloatVal(), content, 4, func(b []byte) float64 {
			return float64(math.Float32frombits(binary.LittleEndian.Uint32(b)))
		})
	case typespb.DataType_DT_DOUBLE:
		return either(t.GetDoubleVal(), content, 8, func(b []byte) float64 {
			return math.Float64frombits(binary.LittleEndian.Uint64(b))
		})
	case typespb.DataType_DT_INT32:
		return either(t.GetIntVal(), content, 4, func(b []byte) float64 { return float64(int32(binary.LittleEndian.Uint32(b))) })
	case typespb.DataType_DT_INT64:
		return either(t.GetInt64Val(), content, 8, func(b []byte) float64 { return float64(int64(binary.LittleEndian.Uint64(b))) })
	}
	return nil, fmt.Errorf("tensor of %v: expected float, double, int32 or int64", t.GetDtype())
}

// either returns the elements from the content, of so many bytes each, or from the list.
func either[T float32 | float64 | int32 | int64](list []T, content []byte, size int, read func([]byte) float64) ([]float64, error) {
	if len(content)%size != 0 || len(content)/size > maxElements || len(list) > maxElements {
		return nil, fmt.Errorf("tensor of %d bytes and %d listed elements: expected up to %d elements of %d bytes",
			len(content), len(list), maxElements, size)
	}
	x := make([]float64, 0, len(list)+len(content)/size)
	for _, v := range list {
		x = append(x, float64(v))
	}
	for ; len(content) > 0; content = content[size:] {
		x = append(x, read(content))
	}
	return x, nil
}
