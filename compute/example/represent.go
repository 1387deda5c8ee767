package example

import (
	"fmt"
	"maps"
	"slices"

	"github.com/stoker-ml/stoker/compute/example/schemapb"
)

// represent applies the default group of tensor representations, where they change how a column is read.
func (s *Schema) represent(spec Spec) error {
	group := s.proto.GetTensorRepresentationGroup()[""].GetTensorRepresentation()
	for _, name := range slices.Sorted(maps.Keys(group)) {
		if err := represent(spec, group[name]); err != nil {
			return fmt.Errorf("tensor representation %q: %w", name, err)
		}
	}
	return nil
}

func represent(spec Spec, r *schemapb.TensorRepresentation) error {
	column := func(name string) *Feature {
		i := slices.IndexFunc(spec, func(f Feature) bool { return f.Name == name && !f.Sequence })
		if i < 0 {
			return &Feature{} // of a feature not in use: changing it changes nothing
		}
		return &spec[i]
	}
	switch {
	case r.GetDenseTensor() != nil:
		return column(r.GetDenseTensor().GetColumnName()).setDense(r.GetDenseTensor())
	case r.GetVarlenSparseTensor() != nil:
		column(r.GetVarlenSparseTensor().GetColumnName()).setVarLen()
	case r.GetSparseTensor() != nil:
		column(r.GetSparseTensor().GetValueColumnName()).setVarLen()
		for _, name := range r.GetSparseTensor().GetIndexColumnNames() {
			column(name).setVarLen()
		}
	case len(r.GetRaggedTensor().GetFeaturePath().GetStep()) == 1:
		column(r.GetRaggedTensor().GetFeaturePath().GetStep()[0]).setVarLen()
	}
	return nil
}

func (f *Feature) setVarLen() { f.Shape, f.Default = nil, nil }

func (f *Feature) setDense(d *schemapb.TensorRepresentation_DenseTensor) error {
	f.Shape = dims(d.GetShape())
	if d.GetDefaultValue() == nil {
		return nil
	}
	f.Default = &Default{}
	switch v := d.GetDefaultValue().GetKind().(type) {
	case *schemapb.TensorRepresentation_DefaultValue_FloatValue:
		f.Default.Float = float32(v.FloatValue)
		return f.wantDefault(Float)
	case *schemapb.TensorRepresentation_DefaultValue_IntValue:
		f.Default.Int64 = v.IntValue
		return f.wantDefault(Int64)
	case *schemapb.TensorRepresentation_DefaultValue_BytesValue:
		f.Default.Bytes = v.BytesValue
		return f.wantDefault(Bytes)
	}
	return fmt.Errorf("default_value of feature %q is none of float_value, int_value, bytes_value", f.Name)
}

func (f *Feature) wantDefault(k Kind) error {
	if f.Kind != 0 && f.Kind != k {
		return fmt.Errorf("default_value is a %v, but feature %q a %v", k, f.Name, f.Kind)
	}
	return nil
}
