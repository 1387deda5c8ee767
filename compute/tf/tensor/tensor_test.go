package tensor_test

import (
	"bytes"
	"math"
	"reflect"
	"strings"
	"testing"

	tensorpb "github.com/wamuir/graft/tensorflow/core/framework/tensor_go_proto"

	"github.com/stoker-ml/stoker/compute/tf/tensor"
)

func TestBytesAndFromBytesAreInverse(t *testing.T) {
	t.Parallel()
	long := make([]float64, 10_001) // more than one piece
	for i := range long {
		long[i] = float64(i) / 3
	}
	for _, want := range []tensor.Tensor{
		tensor.Vector[float32](1.5, float32(math.Inf(1)), -2), tensor.Vector(long...), tensor.Scalar[int8](-1), tensor.Vector[int16](-2, 3),
		tensor.Vector[int32](math.MinInt32), tensor.Vector[int64](math.MaxInt64), tensor.Scalar[uint8](255), tensor.Scalar[uint16](65535),
		tensor.Scalar[uint32](math.MaxUint32), tensor.Scalar[uint64](math.MaxUint64), tensor.Vector(true, false),
		&tensor.Array[float32]{Dims: []int{2, 0}, Data: []float32{}}, &tensor.Array[int64]{Dims: []int{2, 1}, Data: []int64{4, 5}},
	} {
		var data bytes.Buffer
		for piece := range tensor.Bytes(want) {
			data.Write(piece)
		}
		got, err := tensor.FromBytes(want.DType(), want.Shape(), data.Bytes())
		if err != nil || !reflect.DeepEqual(got, want) {
			t.Errorf("%v %v is read as %v, %v", want.DType(), want.Shape(), got, err)
		}
		if _, err := tensor.FromBytes(want.DType(), want.Shape(), append(data.Bytes(), 0)); err == nil {
			t.Errorf("%v %v with a byte more is read", want.DType(), want.Shape())
		}
	}
	if _, err := tensor.FromBytes(tensor.Variant, nil, nil); err == nil || !strings.Contains(err.Error(), "DT_VARIANT") {
		t.Errorf("a variant is read: %v", err)
	}
}

func TestTheLastValueOfAListFillsTheShape(t *testing.T) {
	t.Parallel()
	got, err := tensor.FromProto(&tensorpb.TensorProto{
		Dtype: tensor.Int32, TensorShape: tensor.ShapeProto(2, 2), IntVal: []int32{7, 8},
	})
	if values, ok := tensor.Values[int32](got); err != nil || !ok || !reflect.DeepEqual(values, []int32{7, 8, 8, 8}) {
		t.Errorf("read %v, %v", got, err)
	}
	for want, p := range map[string]*tensorpb.TensorProto{
		"has 2 values":         {Dtype: tensor.Int32, TensorShape: tensor.ShapeProto(1), IntVal: []int32{7, 8}},
		"negative dimension":   {Dtype: tensor.Int32, TensorShape: tensor.ShapeProto(-1)},
		"that are not there":   {Dtype: tensor.Int32, TensorShape: tensor.ShapeProto(1 << 26), IntVal: []int32{7}},
		"more than 134217728":  {Dtype: tensor.Int32, TensorShape: tensor.ShapeProto(1<<20, 1<<20)},
		"254 are allowed":      {Dtype: tensor.Int32, TensorShape: tensor.ShapeProto(make([]int, 255)...)},
		"of type DT_COMPLEX64": {Dtype: 8},
	} {
		if _, err := tensor.FromProto(p); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("error is %v, want %q", err, want)
		}
	}
}

func TestNewChecksTheShape(t *testing.T) {
	t.Parallel()
	for _, shape := range [][]int{{3}, {-1, -2}, {}} {
		if _, err := tensor.New(shape, []string{"a", "b"}); err == nil {
			t.Errorf("2 strings have shape %v", shape)
		}
	}
	got, err := tensor.New([]int{2, 1}, []string{"a", "b"})
	if err != nil || got.DType() != tensor.String || got.Size() != 2 {
		t.Errorf("made %v, %v", got, err)
	}
}

func TestASliceIsACopyWithinTheTensor(t *testing.T) {
	t.Parallel()
	whole := &tensor.Array[int32]{Dims: []int{2, 3}, Data: []int32{1, 2, 3, 4, 5, 6}}
	part, err := tensor.Slice(whole, []int{0, 1}, []int{2, 2})
	if err != nil || !reflect.DeepEqual(part, &tensor.Array[int32]{Dims: []int{2, 2}, Data: []int32{2, 3, 5, 6}}) {
		t.Errorf("slice is %v, %v", part, err)
	}
	for _, c := range [][2][]int{{{0, 2}, {2, 2}}, {{0}, {1}}, {{-1, 0}, {1, 1}}} {
		if _, err := tensor.Slice(whole, c[0], c[1]); err == nil {
			t.Errorf("slice at %v of size %v is made", c[0], c[1])
		}
	}
}
