package savedmodel

import (
	"cmp"
	"fmt"
	"maps"
	"slices"

	typepb "github.com/wamuir/graft/tensorflow/core/framework/types_go_proto"
	corepb "github.com/wamuir/graft/tensorflow/core/protobuf/for_core_protos_go_proto"
)

// namedSpec is a field of a dict in a function's signature.
type namedSpec struct {
	key   string
	value *corepb.StructuredValue
}

// sortedFields lists a dict's fields in the order in which TensorFlow flattens them.
func sortedFields(v *corepb.StructuredValue) []namedSpec {
	fields := v.GetDictValue().GetFields()
	var list []namedSpec
	for _, key := range slices.Sorted(maps.Keys(fields)) {
		list = append(list, namedSpec{key, fields[key]})
	}
	return list
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

// specFeature reads how a raw feature is parsed. Its first dimension is the batch.
func specFeature(v *corepb.StructuredValue) (feature, error) {
	ft := feature{}
	if spec := v.GetTensorSpecValue(); spec != nil {
		dims := denseSpec(spec)
		if len(dims.shape) == 0 || slices.Min(append(dims.shape[1:], 0)) < 0 {
			return ft, fmt.Errorf("shape %v can't be parsed from examples", dims.shape)
		}
		ft.dtype, ft.shape = dims.dtype, dims.shape[1:]
	} else if spec := v.GetTypeSpecValue(); spec.GetTypeSpecClass() == corepb.TypeSpecProto_SPARSE_TENSOR_SPEC {
		state := spec.GetTypeState().GetTupleValue().GetValues()
		if len(state) != 2 || len(state[0].GetTensorShapeValue().GetDim()) != 2 {
			return ft, fmt.Errorf("sparse, but not of shape [batch, values]")
		}
		ft.dtype, ft.sparse = state[1].GetTensorDtypeValue(), true
	} else {
		return ft, fmt.Errorf("is neither dense nor sparse: %s", cmp.Or(v.GetTypeSpecValue().GetTypeSpecClassName(), "no type"))
	}
	if !slices.Contains([]typepb.DataType{float32Type, int64Type, stringType}, ft.dtype) {
		return ft, fmt.Errorf("type %v can't be parsed from examples", ft.dtype)
	}
	return ft, nil
}

func denseSpec(spec *corepb.TensorSpecProto) tensorSpec {
	s := tensorSpec{key: spec.GetName(), dtype: spec.GetDtype()}
	if !spec.GetShape().GetUnknownRank() {
		s.shape = dims(spec.GetShape())
	}
	return s
}

// components is how many tensors a value flattens into.
func components(v *corepb.StructuredValue) int {
	spec := v.GetTypeSpecValue()
	switch {
	case spec.GetNumFlatComponents() > 0:
		return int(spec.GetNumFlatComponents())
	case spec.GetTypeSpecClass() == corepb.TypeSpecProto_SPARSE_TENSOR_SPEC:
		return 3
	default:
		return 1
	}
}
