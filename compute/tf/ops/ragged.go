package ops

import (
	"errors"
	"fmt"
	"slices"

	"github.com/stoker-ml/stoker/compute/tf/tensor"
)

// rows are the row splits of a ragged tensor, from the outermost dimension on: row i is from
// splits[i] to splits[i+1] of the next dimension.
type rows [][]int

// check checks that each level begins at 0, doesn't decrease, and ends at the length of the next.
func (r rows) check(values int) error {
	for level, splits := range r {
		end := values
		if level+1 < len(r) {
			end = len(r[level+1]) - 1
		}
		if len(splits) == 0 || splits[0] != 0 || splits[len(splits)-1] != end || !slices.IsSorted(splits) {
			return fmt.Errorf("row splits of level %d don't go from 0 to %d", level, end)
		}
	}
	return nil
}

// CheckSplits makes sure that row splits begin at 0, don't decrease, and end at the number of
// values.
func CheckSplits(splits []int, values int) error { return rows{splits}.check(values) }

// widest returns the length of the longest row of a level.
func (r rows) widest(level int) int {
	most := 0
	for i := 1; i < len(r[level]); i++ {
		most = max(most, r[level][i]-r[level][i-1])
	}
	return most
}

// splitsOfRows turns the row of each value into row splits.
func splitsOfRows(ids []int, number, most int) ([]int, error) {
	if number < 0 || number > most {
		return nil, fmt.Errorf("%d rows", number)
	}
	splits := make([]int, number+1)
	last := 0
	for i, id := range ids {
		if id < last || id >= number {
			return nil, fmt.Errorf("value %d is in row %d of %d, after one of row %d", i, id, number, last)
		}
		last = id
		splits[id+1]++
	}
	for i := range number {
		splits[i+1] += splits[i]
	}
	return splits, nil
}

func buildRaggedToTensor(n *Node) (Kernel, error) {
	var kinds []string
	for _, s := range n.attr("row_partition_types").GetList().GetS() {
		kinds = append(kinds, string(s))
	}
	if len(n.In) != 3+len(kinds) || len(kinds) == 0 {
		return nil, fmt.Errorf("has %d inputs for %d row partitions", len(n.In), len(kinds))
	}
	for i := range kinds {
		if err := n.wantInts(3 + i); err != nil {
			return nil, err
		}
	}
	if err := errors.Join(n.wantInts(0), n.wantAt(1, 0), n.wantAt(2, n.In[1])); err != nil {
		return nil, err
	}
	n.Out = n.In[1:2]
	return func(c *Call) error {
		values := c.tensor(1)
		if len(values.Shape()) == 0 {
			return errors.New("values have no dimension")
		}
		r, err := partitions(c, kinds)
		if err != nil {
			return err
		}
		if err := r.check(values.Shape()[0]); err != nil {
			return err
		}
		return raggedToTensor(c, r, values)
	}, nil
}

// partitions reads the row partitions, in any of TensorFlow's forms.
func partitions(c *Call, kinds []string) (rows, error) {
	var r rows
	number := 0
	for i, kind := range kinds {
		list := c.ints(3 + i)
		switch {
		case kind == "ROW_SPLITS":
			r = append(r, list)
		case kind == "FIRST_DIM_SIZE" && i == 0 && len(list) == 1:
			number = list[0]
			continue
		case kind == "VALUE_ROWIDS":
			if i > 1 {
				number = r[len(r)-1][len(r[len(r)-1])-1]
			}
			c.use(8 * int64(max(0, min(number, c.Most))))
			splits, err := splitsOfRows(list, number, c.Most)
			if err != nil {
				return nil, err
			}
			r = append(r, splits)
		default:
			return nil, fmt.Errorf("row partition %d is a %s of %d numbers", i, kind, len(list))
		}
		if last := r[len(r)-1]; len(last) == 0 {
			return nil, fmt.Errorf("row partition %d is empty", i)
		}
	}
	return r, nil
}

// raggedToTensor truncates and fills up the rows to the shape of input 0, in which -1 means as long
// as the longest.
func raggedToTensor(c *Call, r rows, values tensor.Tensor) error {
	inner := values.Shape()[1:]
	want := c.ints(0)
	dims := []int{len(r[0]) - 1}
	for level := range r {
		dims = append(dims, r.widest(level))
	}
	dims = append(dims, inner...)
	if len(c.tensor(0).Shape()) > 0 && len(want) != len(dims) {
		return fmt.Errorf("shape %v for a ragged tensor of %d dimensions", want, len(dims))
	}
	for i, d := range want {
		if d >= 0 && len(c.tensor(0).Shape()) > 0 {
			dims[i] = d
		}
	}
	if !slices.Equal(dims[len(r)+1:], inner) || c.tensor(2).Size() != 1 {
		return fmt.Errorf("shape %v for values of shape %v and %d defaults", want, values.Shape(), c.tensor(2).Size())
	}
	if err := c.allow(dims); err != nil {
		return err
	}
	out := c.newOutputLike(0, values, dims...)
	out.Fill(c.tensor(2), 0)
	f := filler{c, r, dims, tensor.Strides(dims), out, values, tensor.Count(inner)}
	for row := range min(dims[0], len(r[0])-1) {
		f.row(0, row, row*f.steps[0])
	}
	return nil
}

// filler copies rows of a ragged tensor into a dense one.
type filler struct {
	call        *Call
	rows        rows
	dims, steps []int
	out, values tensor.Tensor
	inner       int
}

func (f filler) row(level, row, at int) {
	start, end := f.rows[level][row], f.rows[level][row+1]
	end = min(end, start+f.dims[level+1])
	f.call.tick(end - start)
	if level+1 == len(f.rows) {
		f.out.CopyFrom(at, f.values, start*f.inner, (end-start)*f.inner)
		return
	}
	for i := start; i < end; i++ {
		f.row(level+1, i, at+(i-start)*f.steps[level+1])
	}
}

func buildRaggedToSparse(n *Node) (Kernel, error) {
	levels := len(n.In) - 1
	if levels < 1 {
		return nil, fmt.Errorf("has %d inputs", len(n.In))
	}
	for i := range levels {
		if err := n.wantInts(i); err != nil {
			return nil, err
		}
	}
	n.Out = []tensor.DType{tensor.Int64, n.In[levels], tensor.Int64}
	return func(c *Call) error {
		var r rows
		for i := range levels {
			r = append(r, c.ints(i))
		}
		values := c.tensor(levels)
		if len(values.Shape()) != 1 {
			return fmt.Errorf("values of shape %v, wants a vector", values.Shape())
		}
		if err := r.check(values.Size()); err != nil {
			return err
		}
		dims := []int{len(r[0]) - 1}
		for level := range r {
			dims = append(dims, r.widest(level))
		}
		c.use(8 * int64(values.Size()) * int64(len(dims)))
		indices := make([]int, 0, values.Size()*len(dims))
		for row := range len(r[0]) - 1 {
			c.tick(len(dims))
			indices = r.appendIndices(indices, 0, row, []int{row})
		}
		putSparse(c, Coords{Values: values}, c.counting(values.Size()), indices, dims)
		return nil
	}, n.wantAt(levels, 0)
}

func (r rows) appendIndices(list []int, level, row int, path []int) []int {
	for i := r[level][row]; i < r[level][row+1]; i++ {
		index := append(path, i-r[level][row])
		if level+1 == len(r) {
			list = append(list, index...)
		} else {
			list = r.appendIndices(list, level+1, i, index)
		}
	}
	return list
}

// buildRaggedRange counts in each row from a start to a limit.
func buildRaggedRange(n *Node) (Kernel, error) {
	splits := n.dtype("Tsplits", tensor.Int64)
	if err := errors.Join(n.takes(3), n.wantSame()); err != nil {
		return nil, err
	}
	n.Out = []tensor.DType{splits, n.In[0]}
	switch {
	case splits == tensor.Int64 && n.In[0] == tensor.Int64:
		return raggedRange[int64, int64], nil
	case splits == tensor.Int64 && n.In[0] == tensor.Int32:
		return raggedRange[int64, int32], nil
	case splits == tensor.Int32 && n.In[0] == tensor.Int64:
		return raggedRange[int32, int64], nil
	case splits == tensor.Int32 && n.In[0] == tensor.Int32:
		return raggedRange[int32, int32], nil
	}
	return nil, fmt.Errorf("input 0 is %v, row splits %v: %w", n.In[0], splits, errType)
}

func raggedRange[S, T int32 | int64](c *Call) error {
	var lists [3][]T
	number := 1
	for i := range lists {
		lists[i] = arg[T](c, i).Data
		if len(c.tensor(i).Shape()) > 0 {
			number = len(lists[i])
		}
	}
	for i := range lists {
		if len(lists[i]) != number && (len(c.tensor(i).Shape()) > 0 || len(lists[i]) != 1) {
			return errors.New("starts, limits and deltas are not as many")
		}
	}
	at := func(i, row int) int64 { return int64(lists[i][min(row, len(lists[i])-1)]) }
	c.use(4 * int64(number) * tensor.BytesOf[S]())
	splits, values := []S{0}, []T{}
	for row := range number {
		start, limit, delta := at(0, row), at(1, row), at(2, row)
		if delta == 0 {
			return errors.New("a delta is 0")
		}
		for v := start; delta > 0 && v < limit || delta < 0 && v > limit; v += delta {
			if len(values)%1024 == 0 {
				c.use(4 * 1024 * tensor.BytesOf[T]()) // values grow
				c.tick(1024)
			}
			if values = append(values, T(v)); len(values) > c.Most {
				return fmt.Errorf("more than %d values", c.Most)
			}
		}
		splits = append(splits, S(len(values)))
	}
	copy(newOutput[S](c, 0, len(splits)).Data, splits)
	copy(newOutput[T](c, 1, len(values)).Data, values)
	return nil
}
