package transform

import (
	"errors"
	"fmt"
	"slices"
)

// buildConcat joins tensors along the axis that the last input names.
func buildConcat(n *node) (kernel, error) {
	last := len(n.in) - 1
	if last < 1 {
		return nil, errors.New("has nothing to join")
	}
	for i := range last {
		if err := n.wantAt(i, n.in[0]); err != nil {
			return nil, err
		}
	}
	n.out = n.in[:1]
	return func(c *call) error {
		at, err := integer1(c.in[last])
		if err != nil {
			return fmt.Errorf("axis %w", err)
		}
		return joined(c, c.in[:last], at)
	}, anyThenInts(n, last)
}

// joined makes output 0 of parts, one after another along an axis.
func joined(c *call, parts []value, at int) error {
	first := parts[0].(tensor)
	at, err := axis(at, len(first.shape()))
	if err != nil {
		return err
	}
	dims := slices.Clone(first.shape())
	dims[at] = 0
	for _, p := range parts {
		shape := slices.Clone(p.(tensor).shape())
		if len(shape) != len(dims) {
			return fmt.Errorf("shapes %v and %v can't be joined", first.shape(), shape)
		}
		dims[at] += shape[at]
		shape[at] = dims[at]
		if !slices.Equal(shape, dims) {
			return fmt.Errorf("shapes %v and %v can't be joined along dimension %d", first.shape(), p.(tensor).shape(), at)
		}
	}
	out := c.roomLike(0, first, dims...)
	rows, width, place := count(dims[:at]), count(dims[at:]), 0
	for _, p := range parts {
		part := p.(tensor)
		w := count(part.shape()[at:])
		for r := range rows {
			out.copy(r*width+place, part, r*w, w)
		}
		place += w
	}
	return nil
}

// buildPack puts tensors side by side along a new axis.
func buildPack(n *node) (kernel, error) {
	at := n.integer("axis", 0)
	n.out = n.in[:min(1, len(n.in))]
	return func(c *call) error {
		shape := c.tensor(0).shape()
		at, err := axis(at, len(shape)+1)
		if err != nil {
			return err
		}
		for i := range c.in {
			if !slices.Equal(c.tensor(i).shape(), shape) {
				return fmt.Errorf("shapes %v and %v can't be packed", shape, c.tensor(i).shape())
			}
		}
		parts, rows := len(c.in), count(shape[:at])
		out := c.roomLike(0, c.tensor(0), slices.Insert(slices.Clone(shape), at, parts)...)
		width := count(shape[at:])
		for i := range c.in {
			for r := range rows {
				out.copy((r*parts+i)*width, c.tensor(i), r*width, width)
			}
		}
		return nil
	}, n.wantSame()
}

// buildUnpack is the inverse of Pack.
func buildUnpack(n *node) (kernel, error) {
	at, parts := n.integer("axis", 0), n.integer("num", 0)
	if err := n.want(0); err != nil {
		return nil, err
	}
	if parts < 0 || parts > maxOutputs {
		return nil, fmt.Errorf("has %d outputs", parts)
	}
	n.out = slices.Repeat(n.in, parts)
	return func(c *call) error {
		shape := c.tensor(0).shape()
		at, err := axis(at, len(shape))
		if err != nil {
			return err
		}
		if shape[at] != parts {
			return fmt.Errorf("dimension %d of %v isn't %d", at, shape, parts)
		}
		return divided(c, c.tensor(0), at, slices.Repeat([]int{1}, parts), slices.Delete(slices.Clone(shape), at, at+1))
	}, nil
}

// maxOutputs bounds the outputs of a node.
const maxOutputs = 1 << 16

// divided cuts t along an axis into parts of the sizes given. The shape of each is as given, or as cut.
func divided(c *call, t tensor, at int, sizes, shape []int) error {
	rows, width, place := count(t.shape()[:at]), count(t.shape()[at:]), 0
	inner := count(t.shape()[at+1:])
	for i, size := range sizes {
		dims := shape
		if dims == nil {
			dims = slices.Clone(t.shape())
			dims[at] = size
		}
		out, w := c.roomLike(i, t, dims...), size*inner
		for r := range rows {
			out.copy(r*w, t, r*width+place, w)
		}
		place += w
	}
	return nil
}

// buildSplit cuts into equal parts along the axis of input 0.
func buildSplit(n *node) (kernel, error) {
	parts := n.integer("num_split", 0)
	if err := n.want(int32Type, 0); err != nil {
		return nil, err
	}
	if parts < 1 || parts > maxOutputs {
		return nil, fmt.Errorf("splits into %d parts", parts)
	}
	n.out = slices.Repeat(n.in[1:2], parts)
	return func(c *call) error {
		t := c.tensor(1)
		at, err := splitAxis(c.in[0], t)
		if err != nil {
			return err
		}
		if t.shape()[at]%parts != 0 {
			return fmt.Errorf("dimension %d of %v isn't a multiple of %d", at, t.shape(), parts)
		}
		return divided(c, t, at, slices.Repeat([]int{t.shape()[at] / parts}, parts), nil)
	}, nil
}

// buildSplitV cuts into parts of the sizes of input 1, of which one may be -1.
func buildSplitV(n *node) (kernel, error) {
	parts := n.integer("num_split", 0)
	if err := n.takes(3); err != nil {
		return nil, err
	}
	if parts < 1 || parts > maxOutputs {
		return nil, fmt.Errorf("splits into %d parts", parts)
	}
	n.out = slices.Repeat(n.in[:1], parts)
	return func(c *call) error {
		t := c.tensor(0)
		at, err := splitAxis(c.in[2], t)
		if err != nil {
			return err
		}
		sizes, err := inferSizes(t.shape()[at], integers(c.in[1]))
		if err != nil || len(sizes) != parts {
			return fmt.Errorf("sizes %v for dimension %d of %v", integers(c.in[1]), at, t.shape())
		}
		return divided(c, t, at, sizes, nil)
	}, anyThenInts(n, 1, 2)
}

func splitAxis(v value, t tensor) (int, error) {
	at, err := integer1(v)
	if err != nil {
		return 0, fmt.Errorf("axis %w", err)
	}
	return axis(at, len(t.shape()))
}

// inferSizes are sizes that add up to total, the one that is -1 being what is left.
func inferSizes(total int, sizes []int) ([]int, error) {
	open, left := -1, total
	for i, s := range sizes {
		if s == -1 && open < 0 {
			open = i
		} else if left -= s; s < 0 || left < 0 {
			return nil, errors.New("sizes don't add up")
		}
	}
	if open >= 0 {
		sizes[open], left = left, 0
	}
	if left != 0 {
		return nil, errors.New("sizes don't add up")
	}
	return sizes, nil
}
