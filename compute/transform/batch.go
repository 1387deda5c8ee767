package transform

import (
	"errors"
	"fmt"
	"slices"

	"github.com/stoker-ml/stoker/compute/example"
)

// columns is how a transformed feature stands in examples: as tf.Transform writes it to its transformed examples, and
// describes it in the schema beside them.
func (f feature) columns() (example.Spec, error) {
	kind, err := kindOf(f.dtype)
	if err != nil {
		return nil, err
	}
	values := example.Feature{Name: f.name, Kind: kind}
	switch {
	case f.layout == dense && (len(f.shape) == 0 || slices.Min(append(f.shape[1:], 1)) < 1):
		return nil, fmt.Errorf("has shape %v, which examples can't hold", f.shape)
	case f.layout == dense:
		values.Shape = slices.Clone(f.shape[1:])
	case f.layout == ragged && f.levels > 1:
		return nil, errors.New("is ragged in more than one dimension")
	case f.layout == ragged:
		values.Name += "$ragged_values"
	case len(f.shape) != 2:
		return f.sparseColumns(values)
	}
	return example.Spec{values}, nil
}

// sparseColumns are values and indices, for what is sparse in more than one dimension.
func (f feature) sparseColumns(values example.Feature) (example.Spec, error) {
	if len(f.shape) < 2 {
		return nil, fmt.Errorf("is sparse of shape %v", f.shape)
	}
	var spec example.Spec
	for d := range f.shape[1:] {
		spec = append(spec, example.Feature{Name: fmt.Sprintf("%s$sparse_indices_%d", f.name, d), Kind: example.Int64})
	}
	values.Name += "$sparse_values"
	return append(spec, values), nil
}

// write puts the feature's tensors into its columns.
func (f feature) write(b *example.Batch, columns example.Spec, tensors []value) error {
	c := b.Column(columns[0].Name)
	switch f.layout {
	case dense:
		return f.writeDense(c, tensors[0].(tensor), b.Rows)
	case ragged:
		return f.writeRagged(c, tensors[0].(tensor), integers(tensors[1]), b.Rows)
	}
	return f.writeSparse(b, columns, tensors)
}

func (f feature) writeDense(c *example.Column, t tensor, rows int) error {
	if dims := t.shape(); len(dims) == 0 || dims[0] != rows || !slices.Equal(dims[1:], c.Feature.Shape) {
		return fmt.Errorf("has shape %v, wants %d rows of %v", dims, rows, c.Feature.Shape)
	}
	c.Offsets = slices.Grow(c.Offsets, rows)
	for r, size := 1, c.Feature.Size(); r <= rows; r++ {
		c.Offsets = append(c.Offsets, int32(r*size))
	}
	return writeValues(c, t)
}

func (f feature) writeRagged(c *example.Column, t tensor, splits []int, rowsWanted int) error {
	if len(t.shape()) == 0 || len(splits) != rowsWanted+1 {
		return fmt.Errorf("has %d row splits for values of shape %v, wants %d rows", len(splits), t.shape(), rowsWanted)
	}
	if err := (rows{splits}).check(t.shape()[0]); err != nil {
		return err
	}
	inner := count(t.shape()[1:])
	for _, s := range splits[1:] {
		c.Offsets = append(c.Offsets, int32(s*inner))
	}
	return writeValues(c, t)
}

func (f feature) writeSparse(b *example.Batch, columns example.Spec, tensors []value) error {
	rows := b.Rows
	one := call{in: tensors}
	s, err := sparseArg(&one, 0)
	if err != nil {
		return err
	}
	if s.dims[0] != rows {
		return fmt.Errorf("has dense shape %v, wants %d rows", s.dims, rows)
	}
	counts := make([]int32, rows)
	for i := range s.values.size() {
		index := s.index(i)
		if index[0] < 0 || index[0] >= rows || i > 0 && index[0] < s.index(i - 1)[0] {
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
			return writeValues(c, s.values)
		}
		for i := range s.values.size() {
			c.Ints = append(c.Ints, int64(s.index(i)[d+1]))
		}
	}
	return nil
}

// writeValues copies: what the graph made is used again for the next batch.
func writeValues(c *example.Column, t tensor) error {
	switch a := t.(type) {
	case *array[float32]:
		c.Floats = append(c.Floats, a.data...)
	case *array[int64]:
		c.Ints = append(c.Ints, a.data...)
	case *array[string]:
		c.Ends = slices.Grow(c.Ends, len(a.data))
		for _, s := range a.data {
			c.Data = append(c.Data, s...)
			c.Ends = append(c.Ends, int32(len(c.Data)))
		}
	default:
		return fmt.Errorf("is of type %v", t.dtype())
	}
	return nil
}
