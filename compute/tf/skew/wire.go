package skew

import (
	"bytes"
	"encoding/binary"
	"fmt"

	"github.com/stoker-ml/stoker/compute/tf/tensor"
)

// wireQuestion, wireAnswer and wireTensor are the messages to and from ask.py.
type wireQuestion struct {
	Signature string                `json:"signature"`
	Inputs    map[string]wireTensor `json:"inputs"`
}

type wireAnswer struct {
	Error   string                `json:"error"`
	Missing string                `json:"missing"` // of an error, the feature that a row lacks
	Unable  string                `json:"unable"`  // an error of the machine, not of the model
	Outputs map[string]wireTensor `json:"outputs"`
}

type wireTensor struct {
	DType string   `json:"dtype"` // DT_FLOAT
	Shape []int    `json:"shape"`
	Bytes []byte   `json:"bytes"` // of numbers, little endian
	Texts [][]byte `json:"texts"` // of strings
}

func wireQuestions(questions []question) []wireQuestion {
	var list []wireQuestion
	for _, q := range questions {
		for _, call := range q.calls {
			inputs := map[string]wireTensor{}
			for name, t := range call.inputs {
				inputs[name] = toWire(t)
			}
			list = append(list, wireQuestion{q.signature.Name, inputs})
		}
	}
	return list
}

func toWire(t tensor.Tensor) wireTensor {
	w := wireTensor{DType: t.DType().String(), Shape: t.Shape()}
	if texts, ok := tensor.Values[string](t); ok {
		for _, s := range texts {
			w.Texts = append(w.Texts, []byte(s))
		}
	} else if floats, ok := tensor.Values[float32](t); ok {
		// There is no error for a type of fixed size.
		w.Bytes, _ = binary.Append(nil, binary.LittleEndian, floats)
	} else if ints, ok := tensor.Values[int64](t); ok {
		w.Bytes, _ = binary.Append(nil, binary.LittleEndian, ints)
	} else if ints, ok := tensor.Values[int32](t); ok {
		w.Bytes, _ = binary.Append(nil, binary.LittleEndian, ints)
	} else if floats, ok := tensor.Values[float64](t); ok {
		w.Bytes, _ = binary.Append(nil, binary.LittleEndian, floats)
	}
	return w
}

func (a wireAnswer) tensors() (map[string]tensor.Tensor, error) {
	tensors := map[string]tensor.Tensor{}
	for name, w := range a.Outputs {
		t, err := w.tensor()
		if err != nil {
			return nil, fmt.Errorf("output %q: %w", name, err)
		}
		tensors[name] = t
	}
	return tensors, nil
}

func (w wireTensor) tensor() (tensor.Tensor, error) {
	switch w.DType {
	case "DT_STRING":
		texts := make([]string, len(w.Texts))
		for i, s := range w.Texts {
			texts[i] = string(s)
		}
		return tensor.New(w.Shape, texts)
	case "DT_FLOAT":
		return numbers[float32](w, 4)
	case "DT_DOUBLE":
		return numbers[float64](w, 8)
	case "DT_INT64":
		return numbers[int64](w, 8)
	case "DT_INT32":
		return numbers[int32](w, 4)
	}
	return nil, fmt.Errorf("is of type %s", w.DType)
}

func numbers[T float32 | float64 | int32 | int64](w wireTensor, size int) (tensor.Tensor, error) {
	data := make([]T, len(w.Bytes)/size)
	if err := binary.Read(bytes.NewReader(w.Bytes), binary.LittleEndian, data); err != nil {
		return nil, err
	}
	return tensor.New(w.Shape, data)
}
