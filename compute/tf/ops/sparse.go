package ops

import (
	"errors"
	"fmt"
	"math"
	"slices"

	"github.com/stoker-ml/stoker/compute/tf/tensor"
)

// Coords is a sparse tensor.
type Coords struct {
	indices []int         // rank of them for each value
	Values  tensor.Tensor // of one dimension
	Dims    []int         // its dense shape
}

// sparseArg returns the sparse tensor of the three inputs from at on.
func sparseArg(c *Call, at int) (Coords, error) {
	s := Coords{indices: c.ints(at), Values: c.tensor(at + 1), Dims: c.ints(at + 2)}
	shape := c.tensor(at).Shape()
	if len(shape) != 2 || shape[0] != s.Values.Size() || shape[1] != len(s.Dims) || len(c.tensor(at+2).Shape()) != 1 ||
		len(s.Values.Shape()) != 1 {
		return s, fmt.Errorf("sparse tensor has indices of shape %v, %d values and %d dimensions", shape, s.Values.Size(), len(s.Dims))
	}
	return s, allowSparse(s.Dims)
}

// SparseOf returns a sparse tensor of its three parts: indices, values and dense shape.
func SparseOf(parts []Value) (Coords, error) { return sparseArg(&Call{In: parts}, 0) }

// allowSparse is like allow, for a shape of which only a few elements exist.
func allowSparse(dims []int) error {
	for _, d := range dims {
		if d < 0 {
			return fmt.Errorf("dense shape %v has a negative dimension", dims)
		}
	}
	return nil
}

// Index returns the position of value i.
func (s Coords) Index(i int) []int { return s.indices[i*len(s.Dims) : (i+1)*len(s.Dims)] }

// sparseOutputs are the names of three outputs that make a sparse tensor.
var sparseOutputs = []string{"output_indices", "output_values", "output_shape"}

// putSparse makes outputs 0, 1 and 2 of some values of the sparse tensor, with the given indices
// and shape.
func putSparse(c *Call, s Coords, from, indices, dims []int) {
	copyInts(newOutput[int64](c, 0, len(from), len(dims)).Data, indices)
	c.take(c.newOutputLike(1, s.Values, len(from)), s.Values, from)
	copyInts(newOutput[int64](c, 2, len(dims)).Data, dims)
}

// wantSparse checks the three inputs of a sparse tensor from at on.
func (n *Node) wantSparse(at int) error {
	if len(n.In) < at+3 {
		return fmt.Errorf("has %d inputs", len(n.In))
	}
	return errors.Join(n.wantAt(at, tensor.Int64), n.wantAt(at+1, 0), n.wantAt(at+2, tensor.Int64))
}

func buildSparseToDense(n *Node) (Kernel, error) {
	if err := n.takes(4); err != nil {
		return nil, err
	}
	if err := errors.Join(n.wantInts(0, 1), n.wantAt(2, 0), n.wantAt(3, n.In[2])); err != nil {
		return nil, err
	}
	validate := n.Boolean("validate_indices", true)
	n.Out = n.In[2:3]
	return func(c *Call) error { return sparseToDense(c, validate) }, nil
}

// sparseToDense refuses indices out of bounds, and if they are to be validated, those that repeat
// or don't ascend.
func sparseToDense(c *Call, validate bool) error {
	indices, dims, values := c.tensor(0), c.ints(1), c.tensor(2)
	if err := c.allow(dims); err != nil {
		return err
	}
	entries := indices.Size()
	if len(indices.Shape()) == 2 {
		entries = indices.Shape()[0]
	}
	if len(indices.Shape()) > 2 || entries*len(dims) != indices.Size() || values.Size() != entries && values.Size() != 1 ||
		c.tensor(3).Size() != 1 {
		return fmt.Errorf("indices of shape %v, %d values, shape %v", indices.Shape(), values.Size(), dims)
	}
	c.use(8 * int64(entries))
	places, err := placesOf(indices, dims, validate)
	if err != nil {
		return err
	}
	out := c.newOutputLike(0, values, dims...)
	out.Fill(c.tensor(3), 0)
	if values.Size() == 1 {
		c.use(int64(entries) * values.ElementBytes())
		values = values.Reuse(nil, []int{entries})
		values.Fill(c.tensor(2), 0)
	}
	c.put(out, values, places)
	return nil
}

// placesOf converts indices to offsets in a tensor of shape dims.
func placesOf(indices tensor.Tensor, dims []int, ascending bool) ([]int, error) {
	switch a := indices.(type) {
	case *tensor.Array[int32]:
		return flatIndices(a.Data, dims, ascending)
	case *tensor.Array[int64]:
		return flatIndices(a.Data, dims, ascending)
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

func buildSparseReorder(n *Node) (Kernel, error) {
	if err := n.takes(3); err != nil {
		return nil, err
	}
	n.Out = n.In[:2]
	return func(c *Call) error {
		s, err := sparseArg(c, 0)
		if err != nil {
			return err
		}
		order := c.counting(s.Values.Size())
		slices.SortStableFunc(order, func(i, j int) int {
			c.tick(len(s.Dims))
			return slices.Compare(s.Index(i), s.Index(j))
		})
		out := newOutput[int64](c, 0, len(order), len(s.Dims)).Data
		for i, from := range order {
			copyInts(out[i*len(s.Dims):], s.Index(from))
		}
		c.take(c.newOutputLike(1, s.Values, len(order)), s.Values, order)
		return nil
	}, n.wantSparse(0)
}

// counting returns 0, 1, 2, ...
func counting(n int) []int {
	list := make([]int, n)
	for i := range list {
		list[i] = i
	}
	return list
}

// buildSparseReshape changes the shape of a sparse tensor, of indices in input 0 and dense shape in
// input 1.
func buildSparseReshape(n *Node) (Kernel, error) {
	n.Out = []tensor.DType{tensor.Int64, tensor.Int64}
	return func(c *Call) error {
		from := c.ints(1)
		if shape := c.tensor(0).Shape(); len(shape) != 2 || shape[1] != len(from) {
			return fmt.Errorf("indices of shape %v for %d dimensions", shape, len(from))
		}
		if err := tensor.CheckShape(from, math.MaxInt); err != nil {
			return err
		}
		to, err := inferShape(from, c.ints(2))
		if err != nil {
			return err
		}
		indices, entries := c.ints(0), c.tensor(0).Shape()[0]
		out := newOutput[int64](c, 0, entries, len(to)).Data
		for i := range entries {
			c.tick(len(from) + len(to))
			flat, err := flatIndex(indices[i*len(from):(i+1)*len(from)], from)
			if err != nil {
				return err
			}
			for d := len(to) - 1; d >= 0; d-- {
				out[i*len(to)+d] = int64(flat % to[d])
				flat /= to[d]
			}
		}
		copyInts(newOutput[int64](c, 1, len(to)).Data, to)
		return nil
	}, n.want(tensor.Int64, tensor.Int64, tensor.Int64)
}

// buildSparseSlice cuts out a box: from input 3 on, of the size of input 4, or of the rest.
func buildSparseSlice(n *Node) (Kernel, error) {
	if err := n.takes(5); err != nil {
		return nil, err
	}
	n.Out = n.In[:3]
	return func(c *Call) error {
		s, err := sparseArg(c, 0)
		if err != nil {
			return err
		}
		start, size := c.ints(3), c.ints(4)
		if len(start) != len(s.Dims) || len(size) != len(s.Dims) {
			return fmt.Errorf("slice from %v of size %v of shape %v", start, size, s.Dims)
		}
		dims := make([]int, len(s.Dims))
		for d := range dims {
			if start[d] < 0 || size[d] < 0 {
				return fmt.Errorf("slice from %v of size %v", start, size)
			}
			dims[d] = max(0, min(size[d], s.Dims[d]-start[d]))
		}
		var from, indices []int
		c.use(16 * int64(s.Values.Size()) * int64(1+len(dims))) // they grow
		for i := range s.Values.Size() {
			c.tick(len(dims))
			if at, inside := shifted(s.Index(i), start, dims); inside {
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

// buildSparseConcat joins sparse tensors, whose inputs are grouped by kind: all indices, all
// values, all shapes.
func buildSparseConcat(n *Node) (Kernel, error) {
	parts, dim := n.Integer("N", 0), n.Integer("concat_dim", 0)
	if parts < 1 || len(n.In) != 3*parts {
		return nil, fmt.Errorf("has %d inputs for %d parts", len(n.In), parts)
	}
	for i := range parts {
		if err := errors.Join(n.wantAt(i, tensor.Int64), n.wantAt(parts+i, n.In[parts]), n.wantAt(2*parts+i, tensor.Int64)); err != nil {
			return nil, err
		}
	}
	n.Out = []tensor.DType{tensor.Int64, n.In[parts], tensor.Int64}
	return func(c *Call) error {
		var list []Coords
		for i := range parts {
			one := c.inner([]Value{c.In[i], c.In[parts+i], c.In[2*parts+i]}, nil)
			s, err := sparseArg(one, 0)
			c.scratch += one.scratch
			if err != nil {
				return err
			}
			list = append(list, s)
		}
		return sparseConcat(c, list, dim)
	}, n.wantAt(parts, 0)
}

func sparseConcat(c *Call, parts []Coords, dim int) error {
	dims := slices.Clone(parts[0].Dims)
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
		if len(s.Dims) != len(dims) {
			return fmt.Errorf("shapes %v and %v can't be joined", parts[0].Dims, s.Dims)
		}
		for i := range s.Values.Size() {
			c.use(8*int64(len(dims)) + 128) // entries grow
			c.tick(len(dims))
			index := slices.Clone(s.Index(i))
			index[dim] += dims[dim]
			entries = append(entries, entry{index, p, i})
		}
		dims[dim] += s.Dims[dim]
	}
	slices.SortStableFunc(entries, func(a, b entry) int {
		c.tick(len(dims))
		return slices.Compare(a.index, b.index)
	})
	indices, values := newOutput[int64](c, 0, len(entries), len(dims)).Data, c.newOutputLike(1, parts[0].Values, len(entries))
	for i, e := range entries {
		copyInts(indices[i*len(dims):], e.index)
		values.CopyFrom(i, parts[e.part].Values, e.at, 1)
	}
	copyInts(newOutput[int64](c, 2, len(dims)).Data, dims)
	return nil
}
