package transform

import (
	"fmt"
	"slices"
)

// buildIdentity hands on: the ops that differ only in training, or in what runs before what.
func buildIdentity(n *node) (kernel, error) {
	n.out = n.in[:min(1, len(n.in))]
	return func(c *call) error { c.out[0] = c.in[0]; return nil }, n.takes(1)
}

func buildIdentityN(n *node) (kernel, error) {
	n.out = n.in
	return func(c *call) error { copy(c.out, c.in); return nil }, nil
}

// buildEnsureShape hands on a tensor whose shape is as the attribute says; -1 there is any size.
func buildEnsureShape(n *node) (kernel, error) {
	if n.attr("shape").GetShape().GetUnknownRank() {
		return buildIdentity(n)
	}
	want := shapeOf(n.attr("shape").GetShape())
	n.out = n.in
	return func(c *call) error {
		have := c.tensor(0).shape()
		fits := func(have, want int) bool { return want < 0 || have == want }
		if !slices.EqualFunc(have, want, fits) {
			return fmt.Errorf("shape %v isn't %v", have, want)
		}
		c.out[0] = c.in[0]
		return nil
	}, n.want(0)
}

// integerOut gives shapes and sizes, as int32 or int64.
func integerOut(n *node, list func(t tensor) []int, isScalar bool) (kernel, error) {
	out := n.dtype("out_type", int32Type)
	n.out = []dtype{out}
	if out != int32Type && out != int64Type {
		return nil, fmt.Errorf("out_type is %v", out)
	}
	return func(c *call) error {
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
func putInts(c *call, t dtype, dims, values []int) {
	if t == int32Type {
		copyInts(room[int32](c, 0, dims...).data, values)
	} else {
		copyInts(room[int64](c, 0, dims...).data, values)
	}
}

func copyInts[T int32 | int64](to []T, from []int) {
	for i, v := range from {
		to[i] = T(v)
	}
}

func buildShape(n *node) (kernel, error) {
	return integerOut(n, func(t tensor) []int { return t.shape() }, false)
}

func buildSize(n *node) (kernel, error) {
	return integerOut(n, func(t tensor) []int { return []int{t.size()} }, true)
}

func buildRank(n *node) (kernel, error) {
	return integerOut(n, func(t tensor) []int { return []int{len(t.shape())} }, true)
}

// reshaped gives input 0 the dimensions that are made from its own and input 1.
func reshaped(n *node, inputs int, dims func(c *call, t tensor) ([]int, error)) (kernel, error) {
	if err := n.takes(inputs); err != nil {
		return nil, err
	}
	if inputs > 1 {
		if err := n.wantInts(1); err != nil {
			return nil, err
		}
	}
	n.out = n.in[:1]
	return func(c *call) error {
		t := c.tensor(0)
		shape, err := dims(c, t)
		if err != nil {
			return err
		}
		c.out[0] = t.as(shape)
		return nil
	}, n.wantAt(0, 0)
}

func buildReshape(n *node) (kernel, error) {
	return reshaped(n, 2, func(c *call, t tensor) ([]int, error) { return inferShape(t.shape(), integers(c.in[1])) })
}

// inferShape fills in the dimension -1, of which there may be one. Where another is 0, so is the number of elements, and
// what the dimension is follows from the dimensions that aren't: (0, 4) as (-1, 0) is (4, 0).
func inferShape(from, dims []int) ([]int, error) {
	open, known, empty := -1, 1, false
	for i, d := range dims {
		switch {
		case d == -1 && open < 0:
			open = i
		case d < 0 || d > 0 && known > maxElements/d:
			return nil, fmt.Errorf("shape %v is impossible", dims)
		case d == 0:
			empty = true
		default:
			known *= d
		}
	}
	size := count(from)
	if open >= 0 {
		if empty {
			size = count(slices.DeleteFunc(slices.Clone(from), func(d int) bool { return d == 0 }))
		}
		dims = slices.Clone(dims)
		dims[open] = size / known
	}
	if count(dims) != count(from) {
		return nil, fmt.Errorf("shape %v doesn't fit shape %v", from, dims)
	}
	return dims, nil
}

func buildExpandDims(n *node) (kernel, error) {
	return reshaped(n, 2, func(c *call, t tensor) ([]int, error) {
		at, err := integer1(c.in[1])
		if err != nil {
			return nil, fmt.Errorf("axis %w", err)
		}
		if at, err = axis(at, len(t.shape())+1); err != nil {
			return nil, err
		}
		return slices.Insert(slices.Clone(t.shape()), at, 1), nil
	})
}

// axis counts a negative axis from the end.
func axis(at, rank int) (int, error) {
	if at < -rank || at >= rank {
		return 0, fmt.Errorf("axis %d isn't one of %d", at, rank)
	}
	return (at + rank) % rank, nil
}

// buildSqueeze takes away dimensions of size 1: those named, or all.
func buildSqueeze(n *node) (kernel, error) {
	named := n.ints("squeeze_dims")
	return reshaped(n, 1, func(_ *call, t tensor) ([]int, error) {
		drop := map[int]bool{}
		for _, d := range named {
			at, err := axis(d, len(t.shape()))
			if err != nil {
				return nil, err
			}
			if t.shape()[at] != 1 {
				return nil, fmt.Errorf("dimension %d of %v isn't 1", at, t.shape())
			}
			drop[at] = true
		}
		dims := []int{}
		for i, d := range t.shape() {
			if !drop[i] && (d != 1 || len(named) > 0) {
				dims = append(dims, d)
			}
		}
		return dims, nil
	})
}

// buildBroadcastArgs is the shape that two shapes broadcast to.
func buildBroadcastArgs(n *node) (kernel, error) {
	if err := n.takes(2); err != nil {
		return nil, err
	}
	n.out = n.in[:1]
	out := n.in[0]
	return func(c *call) error {
		dims, err := broadcast(integers(c.in[0]), integers(c.in[1]))
		if err != nil {
			return err
		}
		putInts(c, out, []int{len(dims)}, dims)
		return nil
	}, n.wantInts(0, 1)
}
