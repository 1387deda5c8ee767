package transform

import (
	"errors"
	"fmt"
	"slices"

	"github.com/stoker-ml/stoker/compute/data/example"
	"github.com/stoker-ml/stoker/compute/tf/graph"
	"github.com/stoker-ml/stoker/compute/tf/ops"
	"github.com/stoker-ml/stoker/compute/tf/tensor"
)

// columns returns how examples hold a transformed feature: as tf.Transform writes it to its
// transformed examples, and describes it in their schema.
func (f feature) columns() (example.Spec, error) {
	kind, err := kindOf(f.DType)
	if err != nil {
		return nil, err
	}
	values := example.Feature{Name: f.Name, Kind: kind}
	switch {
	case f.Layout == graph.Dense && (len(f.Shape) == 0 || slices.Min(append(f.Shape[1:], 1)) < 1):
		return nil, fmt.Errorf("has shape %v, which examples can't hold", f.Shape)
	case f.Layout == graph.Dense:
		values.Shape = slices.Clone(f.Shape[1:])
	case f.Layout == graph.Ragged && f.Levels > 1:
		return nil, errors.New("is ragged in more than one dimension")
	case f.Layout == graph.Ragged:
		values.Name += "$ragged_values"
	case len(f.Shape) != 2:
		return f.sparseColumns(values)
	}
	return example.Spec{values}, nil
}

// sparseColumns returns values and indices, for a feature that is sparse in more than one
// dimension.
func (f feature) sparseColumns(values example.Feature) (example.Spec, error) {
	if len(f.Shape) < 2 {
		return nil, fmt.Errorf("is sparse of shape %v", f.Shape)
	}
	var spec example.Spec
	for d := range f.Shape[1:] {
		spec = append(spec, example.Feature{Name: fmt.Sprintf("%s$sparse_indices_%d", f.Name, d), Kind: example.Int64})
	}
	values.Name += "$sparse_values"
	return append(spec, values), nil
}

// write puts the feature's tensors into its columns.
func (f feature) write(b *example.Batch, columns example.Spec, tensors []ops.Value) error {
	c := b.Column(columns[0].Name)
	switch f.Layout {
	case graph.Dense:
		return f.writeDense(c, tensors[0].(tensor.Tensor), b.Rows)
	case graph.Ragged:
		return f.writeRagged(c, tensors[0].(tensor.Tensor), tensor.Integers(tensors[1]), b.Rows)
	}
	return f.writeSparse(b, columns, tensors)
}

func (f feature) writeDense(c *example.Column, t tensor.Tensor, rows int) error {
	if dims := t.Shape(); len(dims) == 0 || dims[0] != rows || !slices.Equal(dims[1:], c.Feature.Shape) {
		return fmt.Errorf("has shape %v, wants %d rows of %v", dims, rows, c.Feature.Shape)
	}
	c.Offsets = slices.Grow(c.Offsets, rows)
	for r, size := 1, c.Feature.Size(); r <= rows; r++ {
		c.Offsets = append(c.Offsets, int32(r*size))
	}
	return writeValues(c, t)
}

func (f feature) writeRagged(c *example.Column, t tensor.Tensor, splits []int, rowsWanted int) error {
	if len(t.Shape()) == 0 || len(splits) != rowsWanted+1 {
		return fmt.Errorf("has %d row splits for values of shape %v, wants %d rows", len(splits), t.Shape(), rowsWanted)
	}
	if err := ops.CheckSplits(splits, t.Shape()[0]); err != nil {
		return err
	}
	inner := tensor.Count(t.Shape()[1:])
	for _, s := range splits[1:] {
		c.Offsets = append(c.Offsets, int32(s*inner))
	}
	return writeValues(c, t)
}

func (f feature) writeSparse(b *example.Batch, columns example.Spec, tensors []ops.Value) error {
	rows := b.Rows
	s, err := ops.SparseOf(tensors)
	if err != nil {
		return err
	}
	if s.Dims[0] != rows {
		return fmt.Errorf("has dense shape %v, wants %d rows", s.Dims, rows)
	}
	counts := make([]int32, rows)
	for i := range s.Values.Size() {
		index := s.Index(i)
		if index[0] < 0 || index[0] >= rows || i > 0 && index[0] < s.Index(i - 1)[0] {
			return fmt.Errorf("value %d is in row %d of %d, out of order", i, index[0], rows)
		}
		counts[index[0]]++
	}
	for d := range columns {
		c := b.Column(columns[d].Name)
		for r, n := range counts {
			c.Offsets = append(c.Offsets, c.Offsets[r]+n)
		}
		if d == len(columns)-1 {
			return writeValues(c, s.Values)
		}
		for i := range s.Values.Size() {
			c.Ints = append(c.Ints, int64(s.Index(i)[d+1]))
		}
	}
	return nil
}

// writeValues copies, because the graph's memory is used again for the next batch.
func writeValues(c *example.Column, t tensor.Tensor) error {
	switch a := t.(type) {
	case *tensor.Array[float32]:
		c.Floats = append(c.Floats, a.Data...)
	case *tensor.Array[int64]:
		c.Ints = append(c.Ints, a.Data...)
	case *tensor.Array[string]:
		c.Ends = slices.Grow(c.Ends, len(a.Data))
		for _, s := range a.Data {
			c.Data = append(c.Data, s...)
			c.Ends = append(c.Ends, int32(len(c.Data)))
		}
	default:
		return fmt.Errorf("is of type %v", t.DType())
	}
	return nil
}
