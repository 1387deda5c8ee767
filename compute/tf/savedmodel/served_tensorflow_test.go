package savedmodel

import (
	"bytes"
	_ "embed"
	"encoding/binary"
	"math"
	"slices"
	"testing"

	"github.com/stoker-ml/stoker/compute/tf/tensor"
	"github.com/stoker-ml/stoker/compute/tf/tftest"
)

//go:embed testdata/models.py
var modelsScript string

// savedModel is a model that TensorFlow saved, and what it answers.
type savedModel struct {
	Folder          string
	Signature       string // "": serving_default
	Inputs, Outputs map[string]encodedTensor
}

// encodedTensor is a tensor on its way from Python.
type encodedTensor struct {
	DType   string
	Shape   []int
	Bytes   []byte   // of numbers, little endian
	Strings [][]byte // of strings
}

func (e encodedTensor) tensor(t *testing.T) tensor.Tensor {
	t.Helper()
	switch e.DType {
	case "float32":
		return numbersOf[float32](t, e)
	case "int64":
		return numbersOf[int64](t, e)
	case "int32":
		return numbersOf[int32](t, e)
	}
	list := make([]string, len(e.Strings))
	for i, s := range e.Strings {
		list[i] = string(s)
	}
	return denseOf(t, e.Shape, list)
}

func numbersOf[T float32 | int32 | int64](t *testing.T, e encodedTensor) tensor.Tensor {
	t.Helper()
	data := make([]T, len(e.Bytes)/binary.Size(T(0)))
	if err := binary.Read(bytes.NewReader(e.Bytes), binary.LittleEndian, data); err != nil {
		t.Fatal(err)
	}
	return denseOf(t, e.Shape, data)
}

func denseOf[T float32 | int32 | int64 | string](t *testing.T, shape []int, data []T) tensor.Tensor {
	t.Helper()
	tensor, err := tensor.New(shape, data)
	if err != nil {
		t.Fatal(err)
	}
	return tensor
}

// Models that TensorFlow saved, with Keras 3, as modules and as graphs of TensorFlow 1, answer in
// Go as they do there.
func TestModelsOfTensorFlowAreAskedInGo(t *testing.T) {
	t.Parallel()
	var models map[string]savedModel
	tftest.Run(t, modelsScript, map[string]any{"folder": t.TempDir()}, &models)
	for name, m := range models {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			compareModel(t, m)
		})
	}
}

func compareModel(t *testing.T, m savedModel) {
	t.Helper()
	inputs := map[string]tensor.Tensor{}
	for name, v := range m.Inputs {
		inputs[name] = v.tensor(t)
	}
	got, err := openServed(t, m.Folder).Run(m.Signature, inputs)
	if err != nil {
		t.Fatal(err)
	}
	if len(got) != len(m.Outputs) {
		t.Errorf("%d outputs, want %d", len(got), len(m.Outputs))
	}
	for name, v := range m.Outputs {
		compareTensors(t, name, got[name], v.tensor(t))
	}
}

// compareTensors wants equal integers and strings. Floats may differ by 1e-5 of the larger of 1 and
// the expected value: in 11 layers each sum is added up in another order, and the results of exp
// and similar functions differ by a few units in the last place.
func compareTensors(t *testing.T, name string, got, want tensor.Tensor) {
	t.Helper()
	if got == nil || got.DType() != want.DType() || !slices.Equal(got.Shape(), want.Shape()) {
		t.Errorf("%s: %v, want %v", name, got, want)
		return
	}
	if texts, ok := tensor.Values[string](want); ok {
		if have, _ := tensor.Values[string](got); !slices.Equal(have, texts) {
			t.Errorf("%s: %q, want %q", name, have, texts)
		}
		return
	}
	if integers, ok := tensor.Values[int64](want); ok {
		if have, _ := tensor.Values[int64](got); !slices.Equal(have, integers) {
			t.Errorf("%s: %v, want %v", name, have, integers)
		}
		return
	}
	wanted := floatsOf(t, want)
	for i, v := range floatsOf(t, got) {
		if d := math.Abs(v - wanted[i]); !(d <= 1e-5*math.Max(1, math.Abs(wanted[i]))) {
			t.Errorf("%s: [%d] = %v, want %v", name, i, v, wanted[i])
		}
	}
}
