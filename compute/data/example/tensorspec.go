package example

import "github.com/stoker-ml/stoker/compute/data/example/schemapb"

// TensorSpec is one entry of the feature spec that TensorFlow makes from a schema
// (schema_as_feature_spec of tf.Transform): a tensor and the features of a record that it consists
// of.
type TensorSpec struct {
	Name   string
	Layout Layout
	Values string // the feature with the values: TensorFlow's key, or value_key
	Kind   Kind
	// Values is one of a tf.SequenceExample's feature_lists, and so are all other features named
	// here.
	Sequence bool

	// Shape is that of one row: of a FixedLen tensor, or the dense shape of a Sparse one, with -1
	// for an unknown size.
	Shape   []int
	Default *Default // of a FixedLen tensor: fills the shape of a row that lacks the feature

	// For a Sparse tensor: the features with the position of each value, one for each dimension.
	Indices []string
	Sorted  bool // of a Sparse tensor: the positions are in order

	// For a Ragged tensor: how its values are partitioned further, the outermost first.
	Partitions  []Partition
	SplitsInt32 bool // of a Ragged tensor: row splits are int32, else int64

	// The schema's properties of the values, as in Feature.
	Vocabulary  []string
	IntRange    *Range
	Categorical bool
}

// Layout is the class of a tensor's entry in TensorFlow's feature spec: FixedLen is that of
// FixedLenFeature, and so on.
type Layout int

// The layouts.
const (
	FixedLen Layout = iota + 1
	VarLen
	Sparse
	Ragged
)

// String returns TensorFlow's name of the class, without the suffix Feature.
func (l Layout) String() string {
	return [...]string{"none", "FixedLen", "VarLen", "Sparse", "Ragged"}[max(0, min(int(l), 4))]
}

// Partition partitions the values of a ragged tensor into rows: by a feature with the length of
// each, or into equal ones.
type Partition struct {
	RowLength string // the feature; "" for equal ones
	Uniform   int64  // values in each row
}

// columns returns the features to read for a tensor.
func (t TensorSpec) columns() []Feature {
	values := Feature{Name: t.Values, Kind: t.Kind, Sequence: t.Sequence, Vocabulary: t.Vocabulary, IntRange: t.IntRange, Categorical: t.Categorical}
	if t.Layout == FixedLen {
		values.Shape, values.Default = t.Shape, t.Default
	}
	all := []Feature{values}
	for _, name := range t.Indices {
		all = append(all, Feature{Name: name, Kind: Int64, Sequence: t.Sequence})
	}
	for _, p := range t.Partitions {
		if p.RowLength != "" {
			all = append(all, Feature{Name: p.RowLength, Kind: Int64, Sequence: t.Sequence})
		}
	}
	return all
}

// inUse reports whether a feature, plain or sparse, is parsed (_ShouldIncludeFeature of tfx_bsl).
func inUse(f interface {
	GetDeprecated() bool
	GetLifecycleStage() schemapb.LifecycleStage
}) bool {
	switch f.GetLifecycleStage() {
	case schemapb.LifecycleStage_DEPRECATED, schemapb.LifecycleStage_DISABLED, schemapb.LifecycleStage_PLANNED,
		schemapb.LifecycleStage_ALPHA, schemapb.LifecycleStage_DEBUG_ONLY, schemapb.LifecycleStage_VALIDATION_DERIVED:
		return false
	}
	return !f.GetDeprecated()
}
