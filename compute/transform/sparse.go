package transform

import (
	"errors"
	"fmt"
	"slices"
)

// coords is a sparse tensor as ops take it: in three inputs from place at on.
type coords struct {
	indices []int // rank of them for each value
	values  tensor
	dims    []int
}

func sparseArg(c *call, at int) (coords, error) {
	s := coords{indices: integers(c.in[at]), values: c.tensor(at + 1), dims: integers(c.in[at+2])}
	shape := c.tensor(at).shape()
	if len(shape) != 2 || shape[0] != s.values.size() || shape[1] != len(s.dims) || len(c.tensor(at+2).shape()) != 1 ||
		len(s.values.shape()) != 1 {
		return s, fmt.Errorf("sparse tensor has indices of shape %v, %d values and %d dimensions", shape, s.values.size(), len(s.dims))
	}
	return s, allowSparse(s.dims)
}

// allowSparse is allow for a shape of which only a few elements are there.
func allowSparse(dims []int) error {
	for _, d := range dims {
		if d < 0 {
			return fmt.Errorf("dense shape %v has a negative dimension", dims)
		}
	}
	return nil
}

func (s coords) index(i int) []int { return s.indices[i*len(s.dims) : (i+1)*len(s.dims)] }

// sparseOutputs are the names of three outputs that make a sparse tensor.
var sparseOutputs = []string{"output_indices", "output_values", "output_shape"}

// putSparse makes outputs 0, 1 and 2 of the values at places of the sparse tensor, with the indices and the shape given.
func putSparse(c *call, s coords, from, indices, dims []int) {
	copyInts(room[int64](c, 0, len(from), len(dims)).data, indices)
	c.roomLike(1, s.values, len(from)).take(s.values, from)
	copyInts(room[int64](c, 2, len(dims)).data, dims)
}

// wantSparse checks the three inputs of a sparse tensor from place at on.
func (n *node) wantSparse(at int) error {
	if len(n.in) < at+3 {
		return fmt.Errorf("has %d inputs", len(n.in))
	}
	return errors.Join(n.wantAt(at, int64Type), n.wantAt(at+1, 0), n.wantAt(at+2, int64Type))
}

func buildSparseToDense(n *node) (kernel, error) {
	if err := n.takes(4); err != nil {
		return nil, err
	}
	if err := errors.Join(n.wantInts(0, 1), n.wantAt(2, 0), n.wantAt(3, n.in[2])); err != nil {
		return nil, err
	}
	validate := n.boolean("validate_indices", true)
	n.out = n.in[2:3]
	return func(c *call) error { return sparseToDense(c, validate) }, nil
}

// sparseToDense refuses indices out of bounds, and if they are to be validated, those that repeat or don't ascend.
func sparseToDense(c *call, validate bool) error {
	indices, dims, values := c.tensor(0), integers(c.in[1]), c.tensor(2)
	if err := c.allow(dims); err != nil {
		return err
	}
	entries := indices.size()
	if len(indices.shape()) == 2 {
		entries = indices.shape()[0]
	}
	if len(indices.shape()) > 2 || entries*len(dims) != indices.size() || values.size() != entries && values.size() != 1 ||
		c.tensor(3).size() != 1 {
		return fmt.Errorf("indices of shape %v, %d values, shape %v", indices.shape(), values.size(), dims)
	}
	places, err := placesOf(indices, dims, validate)
	if err != nil {
		return err
	}
	out := c.roomLike(0, values, dims...)
	out.fill(c.tensor(3), 0)
	if values.size() == 1 {
		values = values.room(nil, []int{entries})
		values.fill(c.tensor(2), 0)
	}
	out.put(values, places)
	return nil
}

// placesOf turns indices into places in a tensor of shape dims.
func placesOf(indices tensor, dims []int, ascending bool) ([]int, error) {
	switch a := indices.(type) {
	case *array[int32]:
		return flatIndices(a.data, dims, ascending)
	case *array[int64]:
		return flatIndices(a.data, dims, ascending)
	}
	return nil, errType
}

func flatIndices[I int32 | int64](indices []I, dims []int, ascending bool) ([]int, error) {
	if len(dims) == 0 {
		return nil, errors.New("a scalar has no indices")
	}
	list, last := make([]int, len(indices)/len(dims)), -1
	for i := range list {
		index := indices[i*len(dims) : (i+1)*len(dims)]
		at := 0
		for d, k := range index {
			if k < 0 || int(k) >= dims[d] {
				return nil, fmt.Errorf("indices[%d] = %v is not in shape %v", i, index, dims)
			}
			at = at*dims[d] + int(k)
		}
		if ascending && at <= last {
			return nil, fmt.Errorf("indices[%d] = %v is repeated or out of order", i, index)
		}
		list[i], last = at, at
	}
	return list, nil
}

func buildSparseReorder(n *node) (kernel, error) {
	if err := n.takes(3); err != nil {
		return nil, err
	}
	n.out = n.in[:2]
	return func(c *call) error {
		s, err := sparseArg(c, 0)
		if err != nil {
			return err
		}
		order := counting(s.values.size())
		slices.SortStableFunc(order, func(i, j int) int { return slices.Compare(s.index(i), s.index(j)) })
		out := room[int64](c, 0, len(order), len(s.dims)).data
		for i, from := range order {
			copyInts(out[i*len(s.dims):], s.index(from))
		}
		c.roomLike(1, s.values, len(order)).take(s.values, order)
		return nil
	}, n.wantSparse(0)
}

// counting is 0, 1, 2, ...
func counting(n int) []int {
	list := make([]int, n)
	for i := range list {
		list[i] = i
	}
	return list
}

// buildSparseSlice cuts out a box: from input 3 on, of the size of input 4 or what is left.
func buildSparseSlice(n *node) (kernel, error) {
	if err := n.takes(5); err != nil {
		return nil, err
	}
	n.out = n.in[:3]
	return func(c *call) error {
		s, err := sparseArg(c, 0)
		if err != nil {
			return err
		}
		start, size := integers(c.in[3]), integers(c.in[4])
		if len(start) != len(s.dims) || len(size) != len(s.dims) {
			return fmt.Errorf("slice from %v of size %v of shape %v", start, size, s.dims)
		}
		dims := make([]int, len(s.dims))
		for d := range dims {
			if start[d] < 0 || size[d] < 0 {
				return fmt.Errorf("slice from %v of size %v", start, size)
			}
			dims[d] = max(0, min(size[d], s.dims[d]-start[d]))
		}
		var from, indices []int
		for i := range s.values.size() {
			if at, inside := shifted(s.index(i), start, dims); inside {
				from, indices = append(from, i), append(indices, at...)
			}
		}
		putSparse(c, s, from, indices, dims)
		return nil
	}, errors.Join(n.wantSparse(0), n.wantInts(3, 4))
}

func shifted(index, start, dims []int) (at []int, inside bool) {
	at = make([]int, len(index))
	for d := range index {
		at[d] = index[d] - start[d]
		if at[d] < 0 || at[d] >= dims[d] {
			return nil, false
		}
	}
	return at, true
}

// buildSparseConcat joins sparse tensors, whose parts come one kind after another: all indices, all values, all shapes.
func buildSparseConcat(n *node) (kernel, error) {
	parts, dim := n.integer("N", 0), n.integer("concat_dim", 0)
	if parts < 1 || len(n.in) != 3*parts {
		return nil, fmt.Errorf("has %d inputs for %d parts", len(n.in), parts)
	}
	for i := range parts {
		if err := errors.Join(n.wantAt(i, int64Type), n.wantAt(parts+i, n.in[parts]), n.wantAt(2*parts+i, int64Type)); err != nil {
			return nil, err
		}
	}
	n.out = []dtype{int64Type, n.in[parts], int64Type}
	return func(c *call) error {
		var list []coords
		for i := range parts {
			one := call{in: []value{c.in[i], c.in[parts+i], c.in[2*parts+i]}}
			s, err := sparseArg(&one, 0)
			if err != nil {
				return err
			}
			list = append(list, s)
		}
		return sparseConcat(c, list, dim)
	}, n.wantAt(parts, 0)
}

func sparseConcat(c *call, parts []coords, dim int) error {
	dims := slices.Clone(parts[0].dims)
	dim, err := axis(dim, len(dims))
	if err != nil {
		return err
	}
	dims[dim] = 0
	type entry struct {
		index    []int
		part, at int
	}
	var entries []entry
	for p, s := range parts {
		if len(s.dims) != len(dims) {
			return fmt.Errorf("shapes %v and %v can't be joined", parts[0].dims, s.dims)
		}
		for i := range s.values.size() {
			index := slices.Clone(s.index(i))
			index[dim] += dims[dim]
			entries = append(entries, entry{index, p, i})
		}
		dims[dim] += s.dims[dim]
	}
	slices.SortStableFunc(entries, func(a, b entry) int { return slices.Compare(a.index, b.index) })
	indices, values := room[int64](c, 0, len(entries), len(dims)).data, c.roomLike(1, parts[0].values, len(entries))
	for i, e := range entries {
		copyInts(indices[i*len(dims):], e.index)
		values.copy(i, parts[e.part].values, e.at, 1)
	}
	copyInts(room[int64](c, 2, len(dims)).data, dims)
	return nil
}
