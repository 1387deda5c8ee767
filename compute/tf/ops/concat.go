package ops

import (
	"errors"
	"fmt"
	"slices"

	"github.com/stoker-ml/stoker/compute/tf/tensor"
)

// buildConcat joins tensors along the axis that the last input names.
func buildConcat(n *Node) (Kernel, error) {
	last := len(n.In) - 1
	if last < 1 {
		return nil, errors.New("has nothing to join")
	}
	for i := range last {
		if err := n.wantAt(i, n.In[0]); err != nil {
			return nil, err
		}
	}
	n.Out = n.In[:1]
	return func(c *Call) error {
		at, err := integer1(c.In[last])
		if err != nil {
			return fmt.Errorf("axis %w", err)
		}
		return joined(c, c.In[:last], at)
	}, anyThenInts(n, last)
}

// joined makes output 0 of parts, one after another along an axis.
func joined(c *Call, parts []Value, at int) error {
	first := parts[0].(tensor.Tensor)
	at, err := axis(at, len(first.Shape()))
	if err != nil {
		return err
	}
	dims := slices.Clone(first.Shape())
	dims[at] = 0
	for _, p := range parts {
		shape := slices.Clone(p.(tensor.Tensor).Shape())
		if len(shape) != len(dims) {
			return fmt.Errorf("shapes %v and %v can't be joined", first.Shape(), shape)
		}
		dims[at] += shape[at]
		shape[at] = dims[at]
		if !slices.Equal(shape, dims) {
			return fmt.Errorf("shapes %v and %v can't be joined along dimension %d", first.Shape(), p.(tensor.Tensor).Shape(), at)
		}
	}
	out := c.newOutputLike(0, first, dims...)
	rows, width, place := tensor.Count(dims[:at]), tensor.Count(dims[at:]), 0
	for _, p := range parts {
		part := p.(tensor.Tensor)
		w := tensor.Count(part.Shape()[at:])
		for r := range rows {
			c.tick(w)
			out.CopyFrom(r*width+place, part, r*w, w)
		}
		place += w
	}
	return nil
}

// buildPack puts tensors side by side along a new axis.
func buildPack(n *Node) (Kernel, error) {
	at := n.Integer("axis", 0)
	n.Out = n.In[:min(1, len(n.In))]
	return func(c *Call) error {
		shape := c.tensor(0).Shape()
		at, err := axis(at, len(shape)+1)
		if err != nil {
			return err
		}
		for i := range c.In {
			if !slices.Equal(c.tensor(i).Shape(), shape) {
				return fmt.Errorf("shapes %v and %v can't be packed", shape, c.tensor(i).Shape())
			}
		}
		parts, rows := len(c.In), tensor.Count(shape[:at])
		out := c.newOutputLike(0, c.tensor(0), slices.Insert(slices.Clone(shape), at, parts)...)
		width := tensor.Count(shape[at:])
		for i := range c.In {
			for r := range rows {
				c.tick(width)
				out.CopyFrom((r*parts+i)*width, c.tensor(i), r*width, width)
			}
		}
		return nil
	}, n.wantSame()
}

// buildUnpack builds the inverse of Pack.
func buildUnpack(n *Node) (Kernel, error) {
	at, parts := n.Integer("axis", 0), n.Integer("num", 0)
	if err := n.want(0); err != nil {
		return nil, err
	}
	if parts < 0 || parts > maxOutputs {
		return nil, fmt.Errorf("has %d outputs", parts)
	}
	n.Out = slices.Repeat(n.In, parts)
	return func(c *Call) error {
		shape := c.tensor(0).Shape()
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

// maxOutputs limits the outputs of a node.
const maxOutputs = 1 << 16

// divided splits t along an axis into parts of the given sizes. The shape of each is as given, or
// as split.
func divided(c *Call, t tensor.Tensor, at int, sizes, shape []int) error {
	rows, width, place := tensor.Count(t.Shape()[:at]), tensor.Count(t.Shape()[at:]), 0
	inner := tensor.Count(t.Shape()[at+1:])
	for i, size := range sizes {
		dims := shape
		if dims == nil {
			dims = slices.Clone(t.Shape())
			dims[at] = size
		}
		out, w := c.newOutputLike(i, t, dims...), size*inner
		for r := range rows {
			c.tick(w)
			out.CopyFrom(r*w, t, r*width+place, w)
		}
		place += w
	}
	return nil
}

// buildSplit cuts into equal parts along the axis of input 0.
func buildSplit(n *Node) (Kernel, error) {
	parts := n.Integer("num_split", 0)
	if err := n.want(tensor.Int32, 0); err != nil {
		return nil, err
	}
	if parts < 1 || parts > maxOutputs {
		return nil, fmt.Errorf("splits into %d parts", parts)
	}
	n.Out = slices.Repeat(n.In[1:2], parts)
	return func(c *Call) error {
		t := c.tensor(1)
		at, err := splitAxis(c.In[0], t)
		if err != nil {
			return err
		}
		if t.Shape()[at]%parts != 0 {
			return fmt.Errorf("dimension %d of %v isn't a multiple of %d", at, t.Shape(), parts)
		}
		return divided(c, t, at, slices.Repeat([]int{t.Shape()[at] / parts}, parts), nil)
	}, nil
}

// buildSplitV cuts into parts of the sizes of input 1, of which one may be -1.
func buildSplitV(n *Node) (Kernel, error) {
	parts := n.Integer("num_split", 0)
	if err := n.takes(3); err != nil {
		return nil, err
	}
	if parts < 1 || parts > maxOutputs {
		return nil, fmt.Errorf("splits into %d parts", parts)
	}
	n.Out = slices.Repeat(n.In[:1], parts)
	return func(c *Call) error {
		t := c.tensor(0)
		at, err := splitAxis(c.In[2], t)
		if err != nil {
			return err
		}
		sizes, err := inferSizes(t.Shape()[at], c.ints(1))
		if err != nil || len(sizes) != parts {
			return fmt.Errorf("sizes %v for dimension %d of %v", c.ints(1), at, t.Shape())
		}
		return divided(c, t, at, sizes, nil)
	}, anyThenInts(n, 1, 2)
}

func splitAxis(v Value, t tensor.Tensor) (int, error) {
	at, err := integer1(v)
	if err != nil {
		return 0, fmt.Errorf("axis %w", err)
	}
	return axis(at, len(t.Shape()))
}

// inferSizes returns sizes with the sum total: one that is -1 becomes the rest.
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
