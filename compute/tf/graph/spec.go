package graph

import (
	"fmt"
	"maps"
	"slices"

	corepb "github.com/wamuir/graft/tensorflow/core/protobuf/for_core_protos_go_proto"

	"github.com/stoker-ml/stoker/compute/tf/tensor"
)

// Layout is how the values of one name are arranged in tensors.
type Layout int

const (
	Dense  Layout = iota // one tensor, the batch first
	Sparse               // indices, values and dense shape
	Ragged               // values, and row splits from the outermost dimension on
)

// Spec describes one entry of a dict that a function has as its argument or result.
type Spec struct {
	Name   string
	Layout Layout
	DType  tensor.DType
	Shape  []int        // with the batch first; -1: unknown; nil if even the rank is unknown
	Splits tensor.DType // Ragged: the type of row splits
	Levels int          // Ragged: how many row splits there are
}

// Tensors returns how many tensors it is.
func (s Spec) Tensors() int {
	switch s.Layout {
	case Sparse:
		return 3
	case Ragged:
		return 1 + s.Levels
	}
	return 1
}

// Types returns the dtypes of those tensors.
func (s Spec) Types() []tensor.DType {
	switch s.Layout {
	case Sparse:
		return []tensor.DType{tensor.Int64, s.DType, tensor.Int64}
	case Ragged:
		return append([]tensor.DType{s.DType}, slices.Repeat([]tensor.DType{s.Splits}, s.Levels)...)
	}
	return []tensor.DType{s.DType}
}

// specs reads a dict from names to specs, in the order in which TensorFlow flattens it.
func specs(dict *corepb.StructuredValue) ([]Spec, error) {
	fields := dict.GetDictValue().GetFields()
	var list []Spec
	for _, name := range slices.Sorted(maps.Keys(fields)) {
		s, err := readSpec(fields[name])
		if err != nil {
			return nil, fmt.Errorf("feature %q: %w", name, err)
		}
		s.Name = name
		list = append(list, s)
	}
	return list, nil
}

func readSpec(v *corepb.StructuredValue) (Spec, error) {
	if spec := v.GetTensorSpecValue(); spec != nil {
		s := Spec{DType: spec.GetDtype()}
		if !spec.GetShape().GetUnknownRank() {
			s.Shape = tensor.ShapeOf(spec.GetShape())
		}
		return s, nil
	}
	spec := v.GetTypeSpecValue()
	state := spec.GetTypeState().GetTupleValue().GetValues()
	switch class := spec.GetTypeSpecClass(); {
	case class == corepb.TypeSpecProto_SPARSE_TENSOR_SPEC && len(state) == 2:
		return Spec{Layout: Sparse, Shape: tensor.ShapeOf(state[0].GetTensorShapeValue()), DType: state[1].GetTensorDtypeValue()}, nil
	case class == corepb.TypeSpecProto_RAGGED_TENSOR_SPEC && len(state) == 4:
		return raggedSpec(state)
	}
	return Spec{}, fmt.Errorf("is neither dense, sparse nor ragged: %s", spec.GetTypeSpecClassName())
}

// maxLevels limits how deeply ragged tensors nest.
const maxLevels = 16

func raggedSpec(state []*corepb.StructuredValue) (Spec, error) {
	s := Spec{
		Layout: Ragged, Shape: tensor.ShapeOf(state[0].GetTensorShapeValue()), DType: state[1].GetTensorDtypeValue(),
		Levels: int(state[2].GetInt64Value()), Splits: state[3].GetTensorDtypeValue(),
	}
	if s.Levels < 1 || s.Levels > maxLevels {
		return s, fmt.Errorf("ragged in %d dimensions", s.Levels)
	}
	if s.Splits != tensor.Int64 && s.Splits != tensor.Int32 {
		return s, fmt.Errorf("row splits of type %v", s.Splits)
	}
	return s, nil
}
