package example

import "github.com/stoker-ml/stoker/compute/data/example/schemapb"

// Composite is a tensor with another name than the columns that it consists of, according to a
// schema. The reader of the columns has to assemble it.
type Composite struct {
	Name   string
	Values string // the column that holds the values
	// The columns with the position of each value, one for each dimension; none if it is ragged.
	Indices []string
}

// Composites returns the schema's sparse features and those tensor representations that need more
// than a column of their own name.
func (s *Schema) Composites() []Composite {
	var list []Composite
	for _, f := range s.proto.GetSparseFeature() {
		c := Composite{Name: f.GetName(), Values: f.GetValueFeature().GetName()}
		for _, i := range f.GetIndexFeature() {
			c.Indices = append(c.Indices, i.GetName())
		}
		list = append(list, c)
	}
	for name, r := range s.proto.GetTensorRepresentationGroup()[""].GetTensorRepresentation() {
		if c, ok := compositeOf(name, r); ok {
			list = append(list, c)
		}
	}
	return list
}

func compositeOf(name string, r *schemapb.TensorRepresentation) (Composite, bool) {
	switch {
	case r.GetSparseTensor() != nil:
		return Composite{name, r.GetSparseTensor().GetValueColumnName(), r.GetSparseTensor().GetIndexColumnNames()}, true
	case len(r.GetRaggedTensor().GetFeaturePath().GetStep()) == 1:
		return Composite{Name: name, Values: r.GetRaggedTensor().GetFeaturePath().GetStep()[0]}, true
	case r.GetVarlenSparseTensor() != nil && r.GetVarlenSparseTensor().GetColumnName() != name:
		return Composite{Name: name, Values: r.GetVarlenSparseTensor().GetColumnName()}, true
	}
	return Composite{}, false
}
