package example

import (
	"errors"
	"fmt"
	"maps"
	"slices"

	"github.com/stoker-ml/stoker/compute/data/example/schemapb"
)

type representations map[string]*schemapb.TensorRepresentation

// representations returns the schema's tensors by name: those that it represents itself, and one
// for each feature that is not part of those (InferTensorRepresentationsFromMixedSchema of
// tfx_bsl).
func (s *Schema) representations() (representations, error) {
	inferred, err := s.infer()
	if err != nil {
		return nil, err
	}
	own := s.proto.GetTensorRepresentationGroup()[""].GetTensorRepresentation()
	parts := map[string]bool{}
	for _, r := range own {
		for _, name := range partsOf(r) {
			parts[name] = true
		}
	}
	all := maps.Clone(own)
	for name, r := range inferred {
		if _, taken := own[name]; !taken && !parts[name] {
			if all == nil {
				all = representations{}
			}
			all[name] = r
		}
	}
	return all, nil
}

// infer makes tensors of the features alone: dense ones for those with a shape, which must always
// be present, VarLen ones for all others. A feature that a sparse feature names is only a part of
// that.
func (s *Schema) infer() (representations, error) {
	left := map[string]*schemapb.Feature{} // of features with one name the last counts
	for _, f := range s.proto.GetFeature() {
		left[f.GetName()] = f
	}
	all, err := s.inferSparse(left)
	if err != nil {
		return nil, err
	}
	for _, name := range slices.Sorted(maps.Keys(left)) {
		if err := all.add(left[name], s.proto.GetRepresentVariableLengthAsRagged()); err != nil {
			return nil, fmt.Errorf("feature %q: %w", name, err)
		}
	}
	return all, nil
}

// add adds the tensors of a feature; none if it is not in use.
func (all representations) add(f *schemapb.Feature, asRagged bool) error {
	switch {
	case !inUse(f):
	case f.GetType() == schemapb.FeatureType_STRUCT:
		return all.addSteps(f)
	case f.GetShape() != nil:
		if fraction := f.GetPresence().GetMinFraction(); fraction != 1 {
			return fmt.Errorf("shape is set but presence.min_fraction is %v, not 1: use value_count where the feature may be absent", fraction)
		}
		all[f.GetName()] = dense(f.GetName(), f.GetShape())
	case asRagged:
		all[f.GetName()] = ragged(f.GetName())
	default:
		all[f.GetName()] = varLen(f.GetName())
	}
	return nil
}

// addSteps adds a ragged tensor for each feature in a struct: these are the feature_lists of
// tf.SequenceExamples.
func (all representations) addSteps(f *schemapb.Feature) error {
	if len(f.GetStructDomain().GetSparseFeature()) > 0 {
		return errStructOfSparse
	}
	for _, step := range f.GetStructDomain().GetFeature() {
		if step.GetType() == schemapb.FeatureType_STRUCT {
			return fmt.Errorf("struct %q inside a struct: one level is read only", step.GetName())
		}
		all[f.GetName()+"."+step.GetName()] = ragged(f.GetName(), step.GetName())
	}
	return nil
}

var errStructOfSparse = errors.New("sparse features inside a struct aren't read")

// inferSparse makes the tensors of sparse features, and removes the features that they consist of
// from left.
func (s *Schema) inferSparse(left map[string]*schemapb.Feature) (representations, error) {
	all := representations{}
	for _, f := range s.proto.GetSparseFeature() {
		if !inUse(f) {
			continue
		}
		r, err := sparse(f, left)
		if err != nil {
			return nil, fmt.Errorf("sparse_feature %q: %w", f.GetName(), err)
		}
		all[f.GetName()] = r
	}
	return all, nil
}

// sparse derives its dense shape from the domains of the indices: 0 to max, or an unknown size if
// there is none.
func sparse(f *schemapb.SparseFeature, left map[string]*schemapb.Feature) (*schemapb.TensorRepresentation, error) {
	values := f.GetValueFeature().GetName()
	t := &schemapb.TensorRepresentation_SparseTensor{DenseShape: &schemapb.FixedShape{}, ValueColumnName: &values, AlreadySorted: f.IsSorted}
	take := func(what, name string) (*schemapb.Feature, error) {
		feature := left[name]
		if feature == nil {
			return nil, fmt.Errorf("%s feature %q isn't in the schema, or is part of a sparse feature already", what, name)
		}
		delete(left, name)
		return feature, nil
	}
	var indices []*schemapb.Feature
	for _, ref := range f.GetIndexFeature() {
		index, err := take("index", ref.GetName())
		if err != nil {
			return nil, err
		}
		indices = append(indices, index)
		t.IndexColumnNames = append(t.IndexColumnNames, ref.GetName())
	}
	if _, err := take("value", values); err != nil {
		return nil, err
	}
	for _, index := range indices {
		size, err := sizeOf(index)
		if err != nil {
			return nil, err
		}
		t.DenseShape.Dim = append(t.DenseShape.Dim, &schemapb.FixedShape_Dim{Size: &size})
	}
	return &schemapb.TensorRepresentation{Kind: &schemapb.TensorRepresentation_SparseTensor_{SparseTensor: t}}, nil
}

func sizeOf(index *schemapb.Feature) (int64, error) {
	d := index.GetIntDomain()
	switch {
	case d == nil:
		return -1, nil
	case d.Min == nil || d.Max == nil:
		return 0, fmt.Errorf("index feature %q has an int_domain without min or max, so that the dense shape isn't known", index.GetName())
	case d.GetMin() != 0:
		return 0, fmt.Errorf("index feature %q begins at %d: indices begin at 0", index.GetName(), d.GetMin())
	}
	return d.GetMax() + 1, nil
}

func dense(column string, shape *schemapb.FixedShape) *schemapb.TensorRepresentation {
	t := &schemapb.TensorRepresentation_DenseTensor{ColumnName: &column, Shape: shape}
	return &schemapb.TensorRepresentation{Kind: &schemapb.TensorRepresentation_DenseTensor_{DenseTensor: t}}
}

func varLen(column string) *schemapb.TensorRepresentation {
	t := &schemapb.TensorRepresentation_VarLenSparseTensor{ColumnName: &column}
	return &schemapb.TensorRepresentation{Kind: &schemapb.TensorRepresentation_VarlenSparseTensor{VarlenSparseTensor: t}}
}

func ragged(path ...string) *schemapb.TensorRepresentation {
	t := &schemapb.TensorRepresentation_RaggedTensor{FeaturePath: &schemapb.Path{Step: path}}
	return &schemapb.TensorRepresentation{Kind: &schemapb.TensorRepresentation_RaggedTensor_{RaggedTensor: t}}
}
