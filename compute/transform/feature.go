package transform

import (
	"fmt"
	"maps"
	"slices"

	corepb "github.com/wamuir/graft/tensorflow/core/protobuf/for_core_protos_go_proto"
)

// layout is how a feature's values lie in tensors.
type layout int

const (
	dense  layout = iota // one tensor, the batch first
	sparse               // indices, values and dense shape
	ragged               // values, and row splits from the outermost dimension on
)

// feature is a raw or a transformed feature, as the function's signature has it.
type feature struct {
	name   string
	layout layout
	dtype  dtype
	shape  []int // with the batch first; -1 for what is not known; nil if not even the rank is
	splits dtype // ragged: the type of row splits
	levels int   // ragged: how many row splits there are
}

// tensors is how many arguments of the function a feature takes.
func (f feature) tensors() int {
	switch f.layout {
	case sparse:
		return 3
	case ragged:
		return 1 + f.levels
	}
	return 1
}

// types are the dtypes of those tensors.
func (f feature) types() []dtype {
	switch f.layout {
	case sparse:
		return []dtype{int64Type, f.dtype, int64Type}
	case ragged:
		return append([]dtype{f.dtype}, slices.Repeat([]dtype{f.splits}, f.levels)...)
	}
	return []dtype{f.dtype}
}

// features reads a dict from names to specs, in the order in which TensorFlow flattens it.
func features(dict *corepb.StructuredValue) ([]feature, error) {
	fields := dict.GetDictValue().GetFields()
	var list []feature
	for _, name := range slices.Sorted(maps.Keys(fields)) {
		f, err := readFeature(fields[name])
		if err != nil {
			return nil, fmt.Errorf("feature %q: %w", name, err)
		}
		f.name = name
		list = append(list, f)
	}
	return list, nil
}

// firstArgument takes a out of ((a, ...), {}).
func firstArgument(v *corepb.StructuredValue) *corepb.StructuredValue {
	for range 2 {
		values := v.GetTupleValue().GetValues()
		if len(values) == 0 {
			return nil
		}
		v = values[0]
	}
	return v
}

func readFeature(v *corepb.StructuredValue) (feature, error) {
	if spec := v.GetTensorSpecValue(); spec != nil {
		f := feature{dtype: spec.GetDtype()}
		if !spec.GetShape().GetUnknownRank() {
			f.shape = shapeOf(spec.GetShape())
		}
		return f, nil
	}
	spec := v.GetTypeSpecValue()
	state := spec.GetTypeState().GetTupleValue().GetValues()
	switch class := spec.GetTypeSpecClass(); {
	case class == corepb.TypeSpecProto_SPARSE_TENSOR_SPEC && len(state) == 2:
		return feature{layout: sparse, shape: shapeOf(state[0].GetTensorShapeValue()), dtype: state[1].GetTensorDtypeValue()}, nil
	case class == corepb.TypeSpecProto_RAGGED_TENSOR_SPEC && len(state) == 4:
		return raggedFeature(state)
	}
	return feature{}, fmt.Errorf("is neither dense, sparse nor ragged: %s", spec.GetTypeSpecClassName())
}

// maxLevels bounds how deeply ragged tensors nest.
const maxLevels = 16

func raggedFeature(state []*corepb.StructuredValue) (feature, error) {
	f := feature{
		layout: ragged, shape: shapeOf(state[0].GetTensorShapeValue()), dtype: state[1].GetTensorDtypeValue(),
		levels: int(state[2].GetInt64Value()), splits: state[3].GetTensorDtypeValue(),
	}
	if f.levels < 1 || f.levels > maxLevels {
		return f, fmt.Errorf("ragged in %d dimensions", f.levels)
	}
	if f.splits != int64Type && f.splits != int32Type {
		return f, fmt.Errorf("row splits of type %v", f.splits)
	}
	return f, nil
}
