package transform

import (
	"cmp"
	"errors"
	"fmt"
	"math"
	"slices"

	"github.com/stoker-ml/stoker/compute/example"
)

// kindOf is how values of a type stand in examples.
func kindOf(t dtype) (example.Kind, error) {
	switch t {
	case float32Type:
		return example.Float, nil
	case int64Type:
		return example.Int64, nil
	case stringType:
		return example.Bytes, nil
	}
	return 0, fmt.Errorf("is of type %v, which examples can't hold", t)
}

// source is where a raw feature's tensors come from: the columns of a batch, by name.
type source struct {
	feature
	values  string
	indices []string     // sparse, unless the place of a value is its number in the row
	columns example.Spec // both: the values first
}

// sourceOf finds the columns that are put together for f.
func sourceOf(f feature, composites []example.Composite) (source, error) {
	s := source{feature: f, values: f.name}
	if i := slices.IndexFunc(composites, func(c example.Composite) bool { return c.Name == f.name }); i >= 0 && f.layout != dense {
		s.values, s.indices = composites[i].Values, composites[i].Indices
	}
	switch {
	case f.layout == dense && (len(f.shape) == 0 || slices.Min(append(f.shape[1:], 0)) < 0):
		return s, fmt.Errorf("has shape %v, of which examples can't be read", f.shape)
	case f.layout == ragged && f.levels > 1:
		return s, errors.New("is ragged in more than one dimension, which isn't fed from examples")
	case f.layout == sparse && len(s.indices) == 0 && (len(f.shape) != 2 || f.shape[1] >= 0):
		return s, fmt.Errorf("is sparse of shape %v, and no schema in the artifact names its columns", f.shape)
	case f.layout == sparse && len(s.indices) > 0 && len(f.shape) != len(s.indices)+1:
		return s, fmt.Errorf("is sparse of shape %v, the schema names %d columns of indices", f.shape, len(s.indices))
	}
	kind, err := kindOf(f.dtype)
	values := example.Feature{Name: s.values, Kind: kind}
	if s.layout == dense {
		values.Shape = slices.Clone(s.shape[1:])
	}
	s.columns = example.Spec{values}
	for _, name := range s.indices {
		s.columns = append(s.columns, example.Feature{Name: name, Kind: example.Int64})
	}
	return s, err
}

// fill makes the feature's tensors of a batch, in the memory of those of the last.
func (s source) fill(args []value, b *example.Batch) error {
	c, err := s.find(b, s.columns[0])
	if err != nil {
		return err
	}
	at := 0
	if s.layout == sparse {
		at = 1
	}
	dims := []int{c.Len()}
	if s.layout == dense {
		dims = append([]int{b.Rows}, s.shape[1:]...)
	}
	args[at] = columnValues(args[at], c, dims)
	switch {
	case s.layout == ragged && s.splits == int32Type:
		args[1] = &array[int32]{dims: []int{b.Rows + 1}, data: c.Offsets}
	case s.layout == ragged:
		copyWide(args, 1, c.Offsets)
	case s.layout == sparse && len(s.indices) > 0:
		return s.placed(args, b, c)
	case s.layout == sparse:
		s.numbered(args, b.Rows, c)
	}
	return nil
}

func copyWide(args []value, i int, offsets []int32) {
	a := roomIn[int64](args[i], len(offsets))
	for k, v := range offsets {
		a.data[k] = int64(v)
	}
	args[i] = a
}

// find is the batch's column, which has to be as asked for.
func (s source) find(b *example.Batch, want example.Feature) (*example.Column, error) {
	c := b.Column(want.Name)
	switch {
	case c == nil:
		return nil, fmt.Errorf("the batch has no column %q", want.Name)
	case c.Feature.Kind != want.Kind || c.Feature.Sequence:
		return nil, fmt.Errorf("column %q holds %v, wants %v", want.Name, c.Feature.Kind, want.Kind)
	case s.layout == dense && (c.Feature.VarLen() || c.Feature.Size() != want.Size()):
		return nil, fmt.Errorf("column %q has shape %v, wants %v", want.Name, c.Feature.Shape, want.Shape)
	}
	return c, nil
}

// columnValues are a column's values as a tensor. Numbers aren't copied: nothing writes to what is fed.
func columnValues(old value, c *example.Column, dims []int) value {
	switch c.Feature.Kind {
	case example.Float:
		return &array[float32]{dims: dims, data: flushed(c.Floats)}
	case example.Int64:
		return &array[int64]{dims: dims, data: c.Ints}
	}
	a, all, start := roomIn[string](old, dims...), string(c.Data), int32(0)
	for i, end := range c.Ends {
		a.data[i] = all[start:end]
		start = end
	}
	return a
}

// flushed has 0 where there are numbers so small that they aren't held in full, as TensorFlow computes with 0 in their
// place. It does so within the graph too, which we don't: there the difference is below 1.2e-38.
func flushed(floats []float32) []float32 {
	for i := range floats {
		if isTiny(floats[i]) {
			return flush(floats)
		}
	}
	return floats
}

// isTiny holds for a float32 whose exponent is that of 0, and whose fraction isn't.
func isTiny(v float32) bool { return math.Float32bits(v)<<1-1 < 1<<24-1 }

func flush(floats []float32) []float32 {
	floats = slices.Clone(floats)
	for i, v := range floats {
		if isTiny(v) {
			floats[i] = 0
		}
	}
	return floats
}

// numbered makes the indices of a sparse tensor whose values stand one after another in each row.
func (s source) numbered(args []value, rows int, c *example.Column) {
	indices, widest := roomIn[int64](args[0], c.Len(), 2), 0
	for r := range rows {
		start, end := c.Row(r)
		for i := start; i < end; i++ {
			indices.data[2*i], indices.data[2*i+1] = int64(r), int64(i-start)
		}
		widest = max(widest, end-start)
	}
	args[0], args[2] = indices, vector(int64(rows), int64(widest))
}

// placed makes the indices of a sparse tensor out of the columns that hold them, sorted.
func (s source) placed(args []value, b *example.Batch, c *example.Column) error {
	rank := len(s.indices) + 1
	indices := roomIn[int64](args[0], c.Len(), rank)
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
				indices.data[(start+i)*rank], indices.data[(start+i)*rank+d+1] = int64(r), by.Ints[from+i]
			}
		}
	}
	dims := []int64{int64(b.Rows)}
	for _, d := range s.shape[1:] {
		dims = append(dims, int64(d))
	}
	args[0], args[2] = indices, vector(dims...)
	return sortSparse(args, rank)
}

// sortSparse puts the values in the order of their indices.
func sortSparse(args []value, rank int) error {
	indices, values := args[0].(*array[int64]), args[1].(tensor)
	index := func(i int) []int64 { return indices.data[i*rank : (i+1)*rank] }
	byIndex := func(i, j int) int { return cmp.Or(slices.Compare(index(i), index(j)), cmp.Compare(i, j)) }
	order := counting(values.size())
	if slices.IsSortedFunc(order, byIndex) {
		return nil
	}
	slices.SortFunc(order, byIndex)
	sorted, moved := roomIn[int64](nil, indices.dims...), values.room(nil, values.shape())
	for i, from := range order {
		copy(sorted.data[i*rank:], index(from))
	}
	moved.take(values, order)
	args[0], args[1] = sorted, moved
	return nil
}
