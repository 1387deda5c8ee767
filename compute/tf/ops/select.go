package ops

import (
	"fmt"
	"slices"

	"github.com/stoker-ml/stoker/compute/tf/tensor"
)

// buildSelect selects from input 1 where input 0 is true, else from input 2. All three broadcast.
func buildSelect(n *Node) (Kernel, error) {
	if err := n.takes(3); err != nil {
		return nil, err
	}
	if err := n.want(tensor.Bool, 0, n.In[1]); err != nil {
		return nil, err
	}
	n.Out = n.In[1:2]
	switch n.In[1] {
	case tensor.Float32:
		return selected[float32], nil
	case tensor.Float64:
		return selected[float64], nil
	case tensor.Int32:
		return selected[int32], nil
	case tensor.Int64:
		return selected[int64], nil
	case tensor.Bool:
		return selected[bool], nil
	case tensor.String:
		return selected[string], nil
	}
	return nil, n.wantAt(1, tensor.Float32)
}

// buildSelectRows builds Select of TensorFlow 1: inputs 1 and 2 have one shape, input 0 has it too,
// or selects the rows.
func buildSelectRows(n *Node) (Kernel, error) {
	pick, err := buildSelect(n)
	if err != nil {
		return nil, err
	}
	return func(c *Call) error {
		when, a, b := arg[bool](c, 0), c.tensor(1).Shape(), c.tensor(2).Shape()
		if len(when.Dims) != 0 && !slices.Equal(when.Dims, a) && !slices.Equal(when.Dims, a[:min(1, len(a))]) || !slices.Equal(a, b) {
			return fmt.Errorf("selects by shape %v of shapes %v and %v", when.Dims, a, b)
		}
		dims := slices.Clone(when.Dims)
		for len(dims) > 0 && len(dims) < len(a) {
			dims = append(dims, 1)
		}
		return Do(pick, c.inner([]Value{when.As(dims), c.In[1], c.In[2]}, c.Out))
	}, nil
}

func selected[T tensor.Element](c *Call) error {
	when, a, b := arg[bool](c, 0), arg[T](c, 1), arg[T](c, 2)
	dims, err := c.broadcast(a.Dims, b.Dims)
	if err != nil {
		return err
	}
	if dims, err = c.broadcast(when.Dims, dims); err != nil {
		return err
	}
	out := newOutput[T](c, 0, dims...).Data
	w, mw := spread(c, when, dims)
	x, mx := spread(c, a, dims)
	y, my := spread(c, b, dims)
	for i := range out {
		if i%pollEvery == 0 {
			c.tick(pollEvery)
		}
		if w[i&mw] {
			out[i] = x[i&mx]
		} else {
			out[i] = y[i&my]
		}
	}
	return nil
}

// buildClip builds min(max(x, input 1), input 2).
func buildClip(n *Node) (Kernel, error) {
	if err := n.takes(3); err != nil {
		return nil, err
	}
	if err := n.wantSame(); err != nil {
		return nil, err
	}
	n.Out = n.In[:1]
	highest, ok := numbers(larger, larger, larger, larger)[n.In[0]]
	if !ok {
		return nil, n.wantAt(0, tensor.Float32)
	}
	lowest := numbers(smaller, smaller, smaller, smaller)[n.In[0]]
	return func(c *Call) error {
		low := c.inner([]Value{c.In[0], c.In[2]}, []Value{nil})
		if err := Do(lowest, low); err != nil {
			return err
		}
		err := Do(highest, c.inner([]Value{low.Out[0], c.In[1]}, c.Out))
		c.Budget.Release(SizeOf(low.Out[0]))
		return err
	}, nil
}

// buildWhere builds the op for the indices of all elements that are true, or not 0.
func buildWhere(n *Node) (Kernel, error) {
	n.Out = []tensor.DType{tensor.Int64}
	if err := n.want(0); err != nil {
		return nil, err
	}
	kernels := byType{
		tensor.Bool:    whereKernel(func(v bool) bool { return v }),
		tensor.Float32: whereKernel(nonzero[float32]), tensor.Float64: whereKernel(nonzero[float64]),
		tensor.Int32: whereKernel(nonzero[int32]), tensor.Int64: whereKernel(nonzero[int64]),
	}
	k, ok := kernels[n.In[0]]
	if !ok {
		return nil, fmt.Errorf("input 0 is %v: %w", n.In[0], errType)
	}
	return k, nil
}

func whereKernel[T tensor.Element](holds func(T) bool) Kernel {
	return func(c *Call) error {
		in := arg[T](c, 0)
		number := 0
		for _, v := range in.Data {
			if holds(v) {
				number++
			}
		}
		c.tick(len(in.Data))
		c.use(8 * int64(number))
		found := make([]int, 0, number)
		for i, v := range in.Data {
			if holds(v) {
				found = append(found, i)
			}
		}
		rank := len(in.Dims)
		out := newOutput[int64](c, 0, len(found), rank).Data
		for i, at := range found {
			c.tick(rank)
			for d := rank - 1; d >= 0; d-- {
				out[i*rank+d] = int64(at % in.Dims[d])
				at /= in.Dims[d]
			}
		}
		return nil
	}
}
