package ops

import (
	"fmt"
	"slices"

	"github.com/stoker-ml/stoker/compute/tf/tensor"
)

// viewed makes output 0 of the elements of a view of input 0, by its start, dims and steps.
func viewed(c *Call, start int, dims, steps []int) {
	t := c.tensor(0)
	out := c.newOutputLike(0, t, dims...)
	if slices.Equal(steps, tensor.Strides(dims)) {
		out.CopyFrom(0, t, start, out.Size())
		return
	}
	c.take(out, t, c.places(start, dims, steps))
}

func buildBroadcastTo(n *Node) (Kernel, error) {
	if err := n.takes(2); err != nil {
		return nil, err
	}
	n.Out = n.In[:1]
	return func(c *Call) error {
		from, to := c.tensor(0).Shape(), c.ints(1)
		if err := c.allow(to); err != nil {
			return err
		}
		got, err := broadcast(from, to)
		if err != nil {
			return err
		}
		if !slices.Equal(got, to) {
			return fmt.Errorf("shape %v doesn't broadcast to %v", from, to)
		}
		viewed(c, 0, to, repeatSteps(from, to))
		return nil
	}, anyThenInts(n, 1)
}

// anyThenInts checks a tensor of any type, and integers.
func anyThenInts(n *Node, ints ...int) error {
	if err := n.wantAt(0, 0); err != nil {
		return err
	}
	return n.wantInts(ints...)
}

func buildTranspose(n *Node) (Kernel, error) {
	if err := n.takes(2); err != nil {
		return nil, err
	}
	n.Out = n.In[:1]
	return func(c *Call) error {
		from, order := c.tensor(0).Shape(), c.ints(1)
		sorted := slices.Sorted(slices.Values(order))
		dims, steps := make([]int, len(order)), make([]int, len(order))
		for i, d := range order {
			if len(order) != len(from) || sorted[i] != i {
				return fmt.Errorf("%v is no order of %d dimensions", order, len(from))
			}
			dims[i], steps[i] = from[d], tensor.Strides(from)[d]
		}
		viewed(c, 0, dims, steps)
		return nil
	}, anyThenInts(n, 1)
}

func buildReverse(n *Node) (Kernel, error) {
	if err := n.takes(2); err != nil {
		return nil, err
	}
	n.Out = n.In[:1]
	return func(c *Call) error {
		dims := c.tensor(0).Shape()
		start, steps := 0, tensor.Strides(dims)
		for _, d := range c.ints(1) {
			at, err := axis(d, len(dims))
			if err != nil {
				return err
			}
			start += (dims[at] - 1) * steps[at]
			steps[at] = -steps[at]
		}
		viewed(c, start, dims, steps)
		return nil
	}, anyThenInts(n, 1)
}

func buildSlice(n *Node) (Kernel, error) {
	if err := n.takes(3); err != nil {
		return nil, err
	}
	n.Out = n.In[:1]
	return func(c *Call) error {
		from, begin, size := c.tensor(0).Shape(), c.ints(1), c.ints(2)
		if len(begin) != len(from) || len(size) != len(from) {
			return fmt.Errorf("slice of shape %v begins at %v and has size %v", from, begin, size)
		}
		start, steps := 0, tensor.Strides(from)
		for i := range from {
			if size[i] == -1 {
				size[i] = from[i] - begin[i]
			}
			if begin[i] < 0 || size[i] < 0 || begin[i] > from[i] || size[i] > from[i]-begin[i] {
				return fmt.Errorf("slice of shape %v begins at %v and has size %v", from, begin, size)
			}
			start += begin[i] * steps[i]
		}
		viewed(c, start, size, steps)
		return nil
	}, anyThenInts(n, 1, 2)
}

// buildTile repeats a tensor along its dimensions: a view with each dimension split in two, copy
// and element.
func buildTile(n *Node) (Kernel, error) {
	if err := n.takes(2); err != nil {
		return nil, err
	}
	n.Out = n.In[:1]
	return func(c *Call) error {
		t, multiples := c.tensor(0), c.ints(1)
		if len(multiples) != len(t.Shape()) {
			return fmt.Errorf("multiples %v for shape %v", multiples, t.Shape())
		}
		dims, split, steps := []int{}, []int{}, []int{}
		for i, d := range t.Shape() {
			split, steps = append(split, multiples[i], d), append(steps, 0, tensor.Strides(t.Shape())[i])
		}
		if err := c.allow(split); err != nil {
			return err
		}
		for i, d := range t.Shape() {
			dims = append(dims, d*multiples[i])
		}
		c.take(c.newOutputLike(0, t, dims...), t, c.places(0, split, steps))
		return nil
	}, anyThenInts(n, 1)
}

// buildPad puts a constant around a tensor: 0, or input 2.
func buildPad(n *Node) (Kernel, error) {
	if len(n.In) == 3 {
		if err := n.wantAt(2, n.In[0]); err != nil {
			return nil, err
		}
	} else if err := n.takes(2); err != nil {
		return nil, err
	}
	n.Out = n.In[:1]
	return func(c *Call) error {
		t, pads := c.tensor(0), c.ints(1)
		if len(pads) != 2*len(t.Shape()) {
			return fmt.Errorf("paddings %v for shape %v", pads, t.Shape())
		}
		start, dims := 0, slices.Clone(t.Shape())
		for i := range dims {
			if pads[2*i] < 0 || pads[2*i+1] < 0 || pads[2*i] > tensor.MaxElements || pads[2*i+1] > tensor.MaxElements {
				return fmt.Errorf("paddings %v are impossible", pads)
			}
			dims[i] += pads[2*i] + pads[2*i+1]
		}
		if err := c.allow(dims); err != nil {
			return err
		}
		steps := tensor.Strides(dims)
		for i := range dims {
			start += pads[2*i] * steps[i]
		}
		out := c.newOutputLike(0, t, dims...)
		if len(c.In) == 3 {
			if c.tensor(2).Size() != 1 {
				return fmt.Errorf("the value to pad with has %d elements", c.tensor(2).Size())
			}
			out.Fill(c.tensor(2), 0)
		} else {
			out.Zero()
		}
		c.put(out, t, c.places(start, t.Shape(), steps))
		return nil
	}, anyThenInts(n, 1)
}
