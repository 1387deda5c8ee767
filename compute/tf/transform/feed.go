package transform

import (
	"cmp"
	"errors"
	"fmt"
	"slices"

	"github.com/stoker-ml/stoker/compute/data/example"
	"github.com/stoker-ml/stoker/compute/tf/graph"
	"github.com/stoker-ml/stoker/compute/tf/ops"
	"github.com/stoker-ml/stoker/compute/tf/tensor"
)

// kindOf returns how values of a type are stored in examples.
func kindOf(t tensor.DType) (example.Kind, error) {
	switch t {
	case tensor.Float32:
		return example.Float, nil
	case tensor.Int64:
		return example.Int64, nil
	case tensor.String:
		return example.Bytes, nil
	}
	return 0, fmt.Errorf("is of type %v, which examples can't hold", t)
}

// source has the columns of a batch from which a raw feature's tensors are made, by name.
type source struct {
	feature
	values  string
	indices []string     // sparse, unless the position of a value is its number in the row
	columns example.Spec // both: the values first
	used    bool         // by a transformed feature
}

// sourceOf finds the columns that f is composed of.
func sourceOf(f feature, composites []example.Composite) (source, error) {
	s := source{feature: f, values: f.Name}
	if i := slices.IndexFunc(composites, func(c example.Composite) bool { return c.Name == f.Name }); i >= 0 && f.Layout != graph.Dense {
		s.values, s.indices = composites[i].Values, composites[i].Indices
	}
	switch {
	case f.Layout == graph.Dense && (len(f.Shape) == 0 || slices.Min(append(f.Shape[1:], 0)) < 0):
		return s, fmt.Errorf("has shape %v, of which examples can't be read", f.Shape)
	case f.Layout == graph.Ragged && f.Levels > 1:
		return s, errors.New("is ragged in more than one dimension, which isn't fed from examples")
	case f.Layout == graph.Sparse && len(s.indices) == 0 && (len(f.Shape) != 2 || f.Shape[1] >= 0):
		return s, fmt.Errorf("is sparse of shape %v, and no schema in the artifact names its columns", f.Shape)
	case f.Layout == graph.Sparse && len(s.indices) > 0 && len(f.Shape) != len(s.indices)+1:
		return s, fmt.Errorf("is sparse of shape %v, the schema names %d columns of indices", f.Shape, len(s.indices))
	}
	kind, err := kindOf(f.DType)
	values := example.Feature{Name: s.values, Kind: kind}
	if s.Layout == graph.Dense {
		values.Shape = slices.Clone(s.Shape[1:])
	}
	s.columns = example.Spec{values}
	for _, name := range s.indices {
		s.columns = append(s.columns, example.Feature{Name: name, Kind: example.Int64})
	}
	return s, err
}

// fill makes the feature's tensors of a batch, in the memory of those of the last.
func (s source) fill(args []ops.Value, b *example.Batch) error {
	c, err := s.find(b, s.columns[0])
	if err != nil {
		return err
	}
	at := 0
	if s.Layout == graph.Sparse {
		at = 1
	}
	dims := []int{c.Len()}
	if s.Layout == graph.Dense {
		dims = append([]int{b.Rows}, s.Shape[1:]...)
	}
	args[at] = ops.ColumnValues(args[at], c, dims)
	switch {
	case s.Layout == graph.Ragged:
		args[1] = ops.ColumnSplits(args[1], s.Splits, c)
	case s.Layout == graph.Sparse && len(s.indices) > 0:
		return s.placed(args, b, c)
	case s.Layout == graph.Sparse:
		args[0], args[2] = ops.ColumnIndices(args[0], b.Rows, c)
	}
	return nil
}

// find returns the batch's column, which must be of the requested kind.
func (s source) find(b *example.Batch, want example.Feature) (*example.Column, error) {
	c := b.Column(want.Name)
	switch {
	case c == nil:
		return nil, fmt.Errorf("the batch has no column %q", want.Name)
	case c.Feature.Kind != want.Kind || c.Feature.Sequence:
		return nil, fmt.Errorf("column %q holds %v, wants %v", want.Name, c.Feature.Kind, want.Kind)
	case s.Layout == graph.Dense && (c.Feature.VarLen() || c.Feature.Size() != want.Size()):
		return nil, fmt.Errorf("column %q has shape %v, wants %v", want.Name, c.Feature.Shape, want.Shape)
	}
	return c, nil
}

// placed makes the sorted indices of a sparse tensor from the columns that contain them.
func (s source) placed(args []ops.Value, b *example.Batch, c *example.Column) error {
	rank := len(s.indices) + 1
	indices := tensor.Reuse[int64](args[0], c.Len(), rank)
	for d, name := range s.indices {
		by, err := s.find(b, s.columns[d+1])
		if err != nil {
			return err
		}
		for r := range b.Rows {
			start, end := c.Row(r)
			from, to := by.Row(r)
			if to-from != end-start {
				return fmt.Errorf("row %d has %d values and %d indices in %q", r, end-start, to-from, name)
			}
			for i := range end - start {
				indices.Data[(start+i)*rank], indices.Data[(start+i)*rank+d+1] = int64(r), by.Ints[from+i]
			}
		}
	}
	dims := []int64{int64(b.Rows)}
	for _, d := range s.Shape[1:] {
		dims = append(dims, int64(d))
	}
	args[0], args[2] = indices, tensor.Vector(dims...)
	return sortSparse(args, rank)
}

// sortSparse puts the values in the order of their indices.
func sortSparse(args []ops.Value, rank int) error {
	indices, values := args[0].(*tensor.Array[int64]), args[1].(tensor.Tensor)
	index := func(i int) []int64 { return indices.Data[i*rank : (i+1)*rank] }
	byIndex := func(i, j int) int { return cmp.Or(slices.Compare(index(i), index(j)), cmp.Compare(i, j)) }
	order := make([]int, values.Size())
	for i := range order {
		order[i] = i
	}
	if slices.IsSortedFunc(order, byIndex) {
		return nil
	}
	slices.SortFunc(order, byIndex)
	sorted := tensor.Reuse[int64](nil, indices.Dims...)
	for i, from := range order {
		copy(sorted.Data[i*rank:], index(from))
	}
	args[0], args[1] = sorted, tensor.Reordered(values, order)
	return nil
}
