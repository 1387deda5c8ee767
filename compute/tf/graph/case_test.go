package graph_test

import (
	"bytes"
	_ "embed"
	"encoding/binary"
	"fmt"
	"math"
	"slices"
	"testing"

	"github.com/stoker-ml/stoker/compute/tf/graph"
	"github.com/stoker-ml/stoker/compute/tf/tensor"
	"github.com/stoker-ml/stoker/compute/tf/tftest"
)

//go:embed testdata/cases.py
var casesScript string

// saved is a model that TensorFlow saved, and what it made of some inputs.
type saved struct {
	Folder  string
	Inputs  []encoded
	Outputs map[string]encoded
}

// encoded is a tensor on its way from Python.
type encoded struct {
	DType   string
	Shape   []int
	Bytes   []byte   // of numbers, little endian
	Strings [][]byte // of strings
}

func (e encoded) tensor(t *testing.T) tensor.Tensor {
	t.Helper()
	switch e.DType {
	case "string":
		list := make([]string, len(e.Strings))
		for i, s := range e.Strings {
			list[i] = string(s)
		}
		return &tensor.Array[string]{Dims: e.Shape, Data: list}
	case "float32":
		return decoded[float32](t, e)
	case "int32":
		return decoded[int32](t, e)
	case "int64":
		return decoded[int64](t, e)
	}
	t.Fatalf("type %s", e.DType)
	return nil
}

func decoded[T float32 | int32 | int64](t *testing.T, e encoded) tensor.Tensor {
	t.Helper()
	a := &tensor.Array[T]{Dims: e.Shape, Data: make([]T, tensor.Count(e.Shape))}
	if err := binary.Read(bytes.NewReader(e.Bytes), binary.LittleEndian, a.Data); err != nil {
		t.Fatal(err)
	}
	return a
}

func TestOpsOfModelsAnswerAsInTensorFlow(t *testing.T) {
	t.Parallel()
	var cases map[string]saved
	tftest.Run(t, casesScript, map[string]any{"folder": t.TempDir()}, &cases)
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			compareSaved(t, c)
		})
	}
}

func compareSaved(t *testing.T, c saved) {
	t.Helper()
	m, err := graph.Open(c.Folder)
	if err != nil {
		t.Fatal(err)
	}
	signatures, err := m.Signatures()
	if err != nil {
		t.Fatal(err)
	}
	signature, err := graph.Find(signatures, "")
	if err != nil {
		t.Fatal(err)
	}
	session, err := m.Start(t.Context(), graph.Limits{})
	if err != nil {
		t.Fatal(err)
	}
	program, err := session.Compile(t.Context(), signature, "output")
	if err != nil {
		t.Fatal(err)
	}
	frame := program.Frame()
	for range 2 { // the second time in memory that was used
		for i := range frame.Args {
			frame.Args[i] = c.Inputs[i].tensor(t)
		}
		if err := frame.Run(t.Context()); err != nil {
			t.Fatal(err)
		}
		if len(signature.Outputs) != len(c.Outputs) {
			t.Errorf("%d outputs, want %d", len(signature.Outputs), len(c.Outputs))
		}
		for i, out := range signature.Outputs {
			if diff := compare(frame.Result(i), c.Outputs[out.Name].tensor(t)); diff != "" {
				t.Errorf("output %s: %s", out.Name, diff)
			}
		}
	}
}

// compare wants equal integers and strings. Floats may differ by 1e-6 of the larger of 1 and what
// is wanted: the terms of sums are added in another order there, of numbers up to about 5.
func compare(got, want tensor.Tensor) string {
	if got.DType() != want.DType() || !slices.Equal(got.Shape(), want.Shape()) {
		return fmt.Sprintf("%v of shape %v, want %v of %v", got.DType(), got.Shape(), want.DType(), want.Shape())
	}
	switch w := want.(type) {
	case *tensor.Array[float32]:
		for i, v := range got.(*tensor.Array[float32]).Data {
			if d := math.Abs(float64(v - w.Data[i])); !(d <= 1e-6*math.Max(1, math.Abs(float64(w.Data[i])))) {
				return fmt.Sprintf("[%d] = %v, want %v", i, v, w.Data[i])
			}
		}
	case *tensor.Array[int32]:
		return compareEqual(got.(*tensor.Array[int32]).Data, w.Data)
	case *tensor.Array[int64]:
		return compareEqual(got.(*tensor.Array[int64]).Data, w.Data)
	case *tensor.Array[string]:
		return compareEqual(got.(*tensor.Array[string]).Data, w.Data)
	}
	return ""
}

func compareEqual[T comparable](got, want []T) string {
	if !slices.Equal(got, want) {
		return fmt.Sprintf("is %v, want %v", got, want)
	}
	return ""
}
