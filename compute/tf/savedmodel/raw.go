package savedmodel

import (
	"fmt"

	tensorpb "github.com/wamuir/graft/tensorflow/core/framework/tensor_go_proto"
	typepb "github.com/wamuir/graft/tensorflow/core/framework/types_go_proto"

	"github.com/stoker-ml/stoker/compute/data/example"
	"github.com/stoker-ml/stoker/compute/nn"
	"github.com/stoker-ml/stoker/compute/tf/graph"
)

// rawInputs parses examples and returns the graph's inputs, each of shape [batch, width].
func (f *function) rawInputs(m Model, examples edge) (map[string]edge, error) {
	var features []feature
	for _, in := range m.Graph.Inputs {
		ft, err := rawFeature(m, in)
		if err != nil {
			return nil, fmt.Errorf("input %q: %w", in.Name, err)
		}
		features = append(features, ft)
	}
	columns := f.parseExamples(examples, features)
	inputs := map[string]edge{}
	for i, in := range m.Graph.Inputs {
		inputs[in.Name] = f.rawInput(in, features[i], columns[in.Name], m.Defaults)
	}
	return inputs, nil
}

// rawFeature returns how the feature of an input is parsed.
func rawFeature(m Model, in nn.Input) (feature, error) {
	spec, ok := m.Spec.Find(in.Name)
	if !ok {
		return feature{}, fmt.Errorf("no such feature in the spec")
	}
	if spec.Sequence {
		return feature{}, fmt.Errorf("features of sequences can't be served")
	}
	dtype := rawType(spec.Kind)
	if want := dtypeOf(in.Kind); want != dtype && (want != float32Type || dtype != int64Type) {
		return feature{}, fmt.Errorf("takes %v, the feature is %v", in.Kind, spec.Kind)
	}
	if spec.VarLen() {
		return feature{name: in.Name, column: in.Name, dtype: dtype, layout: graph.Sparse}, nil
	}
	if spec.Size() != in.Width {
		return feature{}, fmt.Errorf("is %d wide, the feature has shape %v", in.Width, spec.Shape)
	}
	ft := feature{name: in.Name, column: in.Name, dtype: dtype, shape: spec.Shape}
	fallback := spec.Default
	if d, ok := m.Defaults[in.Name]; ok {
		fallback = &d
	}
	if fallback != nil {
		ft.fallback = filled(defaultConst(dtype, *fallback), spec.Shape)
	}
	return ft, nil
}

func rawType(k example.Kind) typepb.DataType {
	switch k {
	case example.Int64:
		return int64Type
	case example.Bytes:
		return stringType
	default:
		return float32Type
	}
}

// defaultConst returns a default as a scalar.
func defaultConst(dtype typepb.DataType, d example.Default) *tensorpb.TensorProto {
	switch dtype {
	case int64Type:
		return int64Const(d.Int64)
	case stringType:
		return stringConst(string(d.Bytes))
	default:
		return floatConst(d.Float)
	}
}

// rawInput converts a parsed column to the input.
func (f *function) rawInput(in nn.Input, ft feature, column parsed, defaults map[string]example.Default) edge {
	name := "input/" + in.Name
	t := column.values
	if ft.layout == graph.Sparse {
		t = f.dense(name, column, ft.dtype, in.Width, defaultConst(ft.dtype, defaults[in.Name]))
	} else if len(ft.shape) != 1 {
		t = f.reshape(name+"/rows", t, ft.dtype, -1, in.Width)
	}
	if want := dtypeOf(in.Kind); want != ft.dtype {
		t = f.cast(name+"/cast", t, ft.dtype, want)
	}
	return t
}
