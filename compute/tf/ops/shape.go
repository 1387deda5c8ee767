package ops

import (
	"fmt"
	"slices"

	"github.com/stoker-ml/stoker/compute/tf/tensor"
)

// buildIdentity builds the ops that return their input: they differ only in training, or in the
// order of execution.
func buildIdentity(n *Node) (Kernel, error) {
	n.Out = n.In[:min(1, len(n.In))]
	return func(c *Call) error { c.Out[0] = c.In[0]; return nil }, n.takes(1)
}

func buildIdentityN(n *Node) (Kernel, error) {
	n.Out = n.In
	return func(c *Call) error { copy(c.Out, c.In); return nil }, nil
}

// buildEnsureShape builds the op that returns a tensor of the attribute's shape; -1 is any size.
func buildEnsureShape(n *Node) (Kernel, error) {
	if n.attr("shape").GetShape().GetUnknownRank() {
		return buildIdentity(n)
	}
	want := tensor.ShapeOf(n.attr("shape").GetShape())
	n.Out = n.In
	return func(c *Call) error {
		have := c.tensor(0).Shape()
		fits := func(have, want int) bool { return want < 0 || have == want }
		if !slices.EqualFunc(have, want, fits) {
			return fmt.Errorf("shape %v isn't %v", have, want)
		}
		c.Out[0] = c.In[0]
		return nil
	}, n.want(0)
}

// integerOut returns shapes and sizes, as int32 or int64.
func integerOut(n *Node, list func(t tensor.Tensor) []int, isScalar bool) (Kernel, error) {
	out := n.dtype("out_type", tensor.Int32)
	n.Out = []tensor.DType{out}
	if out != tensor.Int32 && out != tensor.Int64 {
		return nil, fmt.Errorf("out_type is %v", out)
	}
	return func(c *Call) error {
		values := list(c.tensor(0))
		dims := []int{len(values)}
		if isScalar {
			dims = nil
		}
		putInts(c, out, dims, values)
		return nil
	}, n.want(0)
}

// putInts makes integers output 0.
func putInts(c *Call, t tensor.DType, dims, values []int) {
	if t == tensor.Int32 {
		copyInts(newOutput[int32](c, 0, dims...).Data, values)
	} else {
		copyInts(newOutput[int64](c, 0, dims...).Data, values)
	}
}

func copyInts[T int32 | int64](to []T, from []int) {
	for i, v := range from {
		to[i] = T(v)
	}
}

func buildShape(n *Node) (Kernel, error) {
	return integerOut(n, func(t tensor.Tensor) []int { return t.Shape() }, false)
}

func buildSize(n *Node) (Kernel, error) {
	return integerOut(n, func(t tensor.Tensor) []int { return []int{t.Size()} }, true)
}

func buildRank(n *Node) (Kernel, error) {
	return integerOut(n, func(t tensor.Tensor) []int { return []int{len(t.Shape())} }, true)
}

// reshaped reshapes input 0 to dimensions that are computed from its own and input 1.
func reshaped(n *Node, inputs int, dims func(c *Call, t tensor.Tensor) ([]int, error)) (Kernel, error) {
	if err := n.takes(inputs); err != nil {
		return nil, err
	}
	if inputs > 1 {
		if err := n.wantInts(1); err != nil {
			return nil, err
		}
	}
	n.Out = n.In[:1]
	return func(c *Call) error {
		t := c.tensor(0)
		shape, err := dims(c, t)
		if err != nil {
			return err
		}
		if len(shape) > tensor.MaxRank {
			return fmt.Errorf("a tensor of %d dimensions, %d are allowed", len(shape), tensor.MaxRank)
		}
		c.Out[0] = t.As(shape)
		return nil
	}, n.wantAt(0, 0)
}

func buildReshape(n *Node) (Kernel, error) {
	return reshaped(n, 2, func(c *Call, t tensor.Tensor) ([]int, error) { return inferShape(t.Shape(), c.ints(1)) })
}

// inferShape fills in the dimension -1, of which there may be one. If another is 0, so is the
// number of elements, and the dimension follows from the dimensions that aren't: (0, 4) as (-1, 0)
// is (4, 0).
func inferShape(from, dims []int) ([]int, error) {
	open, known, empty := -1, 1, false
	for i, d := range dims {
		switch {
		case d == -1 && open < 0:
			open = i
		case d < 0 || d > 0 && known > tensor.MaxElements/d:
			return nil, fmt.Errorf("shape %v is impossible", dims)
		case d == 0:
			empty = true
		default:
			known *= d
		}
	}
	size := tensor.Count(from)
	if open >= 0 {
		if empty {
			size = tensor.Count(slices.DeleteFunc(slices.Clone(from), func(d int) bool { return d == 0 }))
		}
		dims = slices.Clone(dims)
		dims[open] = size / known
	}
	if tensor.Count(dims) != tensor.Count(from) {
		return nil, fmt.Errorf("shape %v doesn't fit shape %v", from, dims)
	}
	return dims, nil
}

func buildExpandDims(n *Node) (Kernel, error) {
	return reshaped(n, 2, func(c *Call, t tensor.Tensor) ([]int, error) {
		at, err := integer1(c.In[1])
		if err != nil {
			return nil, fmt.Errorf("axis %w", err)
		}
		if at, err = axis(at, len(t.Shape())+1); err != nil {
			return nil, err
		}
		return slices.Insert(slices.Clone(t.Shape()), at, 1), nil
	})
}

// axis counts a negative axis from the end.
func axis(at, rank int) (int, error) {
	if at < -rank || at >= rank {
		return 0, fmt.Errorf("axis %d isn't one of %d", at, rank)
	}
	return (at + rank) % rank, nil
}

// buildSqueeze removes dimensions of size 1: those named, or all.
func buildSqueeze(n *Node) (Kernel, error) {
	named := n.ints("squeeze_dims")
	return reshaped(n, 1, func(_ *Call, t tensor.Tensor) ([]int, error) {
		drop := map[int]bool{}
		for _, d := range named {
			at, err := axis(d, len(t.Shape()))
			if err != nil {
				return nil, err
			}
			if t.Shape()[at] != 1 {
				return nil, fmt.Errorf("dimension %d of %v isn't 1", at, t.Shape())
			}
			drop[at] = true
		}
		dims := []int{}
		for i, d := range t.Shape() {
			if !drop[i] && (d != 1 || len(named) > 0) {
				dims = append(dims, d)
			}
		}
		return dims, nil
	})
}

// buildBroadcastArgs builds the op for the shape that two shapes broadcast to.
func buildBroadcastArgs(n *Node) (Kernel, error) {
	if err := n.takes(2); err != nil {
		return nil, err
	}
	n.Out = n.In[:1]
	out := n.In[0]
	return func(c *Call) error {
		dims, err := broadcast(c.ints(0), c.ints(1))
		if err != nil {
			return err
		}
		putInts(c, out, []int{len(dims)}, dims)
		return nil
	}, n.wantInts(0, 1)
}
