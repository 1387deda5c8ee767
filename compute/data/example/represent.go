package example

import (
	"errors"
	"fmt"
	"strings"

	"github.com/stoker-ml/stoker/compute/data/example/schemapb"
)

// partsOf returns the features that a tensor consists of, those of a struct by their path with
// dots.
func partsOf(r *schemapb.TensorRepresentation) []string {
	switch t := r.GetKind().(type) {
	case *schemapb.TensorRepresentation_DenseTensor_:
		return []string{t.DenseTensor.GetColumnName()}
	case *schemapb.TensorRepresentation_VarlenSparseTensor:
		return []string{t.VarlenSparseTensor.GetColumnName()}
	case *schemapb.TensorRepresentation_SparseTensor_:
		parts := t.SparseTensor.GetIndexColumnNames()
		return append(parts[:len(parts):len(parts)], t.SparseTensor.GetValueColumnName())
	case *schemapb.TensorRepresentation_RaggedTensor_:
		path := t.RaggedTensor.GetFeaturePath().GetStep()
		parts := []string{strings.Join(path, ".")}
		for _, p := range t.RaggedTensor.GetPartition() {
			if len(path) > 0 && p.GetRowLength() != "" {
				parts = append(parts, strings.Join(append(path[:len(path)-1:len(path)-1], p.GetRowLength()), "."))
			}
		}
		return parts
	}
	return nil
}

// valuePath returns the path of a tensor's values: a feature, or one in a struct.
func valuePath(r *schemapb.TensorRepresentation) ([]string, error) {
	switch t := r.GetKind().(type) {
	case *schemapb.TensorRepresentation_DenseTensor_:
		return []string{t.DenseTensor.GetColumnName()}, nil
	case *schemapb.TensorRepresentation_VarlenSparseTensor:
		return []string{t.VarlenSparseTensor.GetColumnName()}, nil
	case *schemapb.TensorRepresentation_SparseTensor_:
		return []string{t.SparseTensor.GetValueColumnName()}, nil
	case *schemapb.TensorRepresentation_RaggedTensor_:
		return t.RaggedTensor.GetFeaturePath().GetStep(), nil
	}
	return nil, errors.New("is none of dense_tensor, varlen_sparse_tensor, sparse_tensor, ragged_tensor")
}

// represent makes the tensor of a representation whose values are those of feature
// (CreateTfExampleParserConfig of tfx_bsl).
func represent(r *schemapb.TensorRepresentation, feature *schemapb.Feature) (t TensorSpec, err error) {
	kinds := map[schemapb.FeatureType]Kind{schemapb.FeatureType_BYTES: Bytes, schemapb.FeatureType_INT: Int64, schemapb.FeatureType_FLOAT: Float}
	t = TensorSpec{Values: feature.GetName(), Kind: kinds[feature.GetType()]}
	if t.Kind == 0 {
		return t, fmt.Errorf("feature %q: type %v is none of BYTES, INT, FLOAT", feature.GetName(), feature.GetType())
	}
	switch of := r.GetKind().(type) {
	case *schemapb.TensorRepresentation_DenseTensor_:
		t.Layout, t.Shape = FixedLen, dims(of.DenseTensor.GetShape())
		t.Default, err = defaultOf(of.DenseTensor.GetDefaultValue(), t)
	case *schemapb.TensorRepresentation_VarlenSparseTensor:
		t.Layout = VarLen
	case *schemapb.TensorRepresentation_SparseTensor_:
		t.Layout, t.Shape = Sparse, dims(of.SparseTensor.GetDenseShape())
		t.Indices, t.Sorted = of.SparseTensor.GetIndexColumnNames(), of.SparseTensor.GetAlreadySorted()
	case *schemapb.TensorRepresentation_RaggedTensor_:
		t.Layout, t.SplitsInt32 = Ragged, of.RaggedTensor.GetRowPartitionDtype() == schemapb.TensorRepresentation_INT32
		t.Partitions, err = partitions(of.RaggedTensor)
	}
	return t, err
}

func dims(shape *schemapb.FixedShape) []int {
	sizes := make([]int, len(shape.GetDim()))
	for i, d := range shape.GetDim() {
		sizes[i] = int(d.GetSize())
	}
	return sizes
}

func defaultOf(d *schemapb.TensorRepresentation_DefaultValue, t TensorSpec) (*Default, error) {
	if d == nil {
		return nil, nil
	}
	switch v := d.GetKind().(type) {
	case *schemapb.TensorRepresentation_DefaultValue_FloatValue:
		return &Default{Float: float32(v.FloatValue)}, wantDefault(Float, t)
	case *schemapb.TensorRepresentation_DefaultValue_IntValue:
		return &Default{Int64: v.IntValue}, wantDefault(Int64, t)
	case *schemapb.TensorRepresentation_DefaultValue_BytesValue:
		return &Default{Bytes: v.BytesValue}, wantDefault(Bytes, t)
	}
	return nil, fmt.Errorf("default_value of feature %q is none of float_value, int_value, bytes_value", t.Values)
}

func wantDefault(k Kind, t TensorSpec) error {
	if t.Kind != k {
		return fmt.Errorf("default_value is a %v, but feature %q a %v", k, t.Values, t.Kind)
	}
	return nil
}

func partitions(r *schemapb.TensorRepresentation_RaggedTensor) (all []Partition, err error) {
	for i, p := range r.GetPartition() {
		switch p.GetKind().(type) {
		case *schemapb.TensorRepresentation_RaggedTensor_Partition_UniformRowLength:
			all = append(all, Partition{Uniform: p.GetUniformRowLength()})
		case *schemapb.TensorRepresentation_RaggedTensor_Partition_RowLength:
			all = append(all, Partition{RowLength: p.GetRowLength()})
		default:
			return nil, fmt.Errorf("partition %d is none of uniform_row_length, row_length", i)
		}
	}
	return all, nil
}
