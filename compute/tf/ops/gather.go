package ops

import (
	"errors"
	"fmt"
	"slices"

	"github.com/stoker-ml/stoker/compute/tf/tensor"
)

// buildGather picks slices of input 0 along an axis, by the indices of input 1.
func buildGather(n *Node) (Kernel, error) {
	if err := n.takes(3); err != nil {
		return nil, err
	}
	if n.Integer("batch_dims", 0) != 0 {
		return nil, errors.New("batch_dims isn't 0")
	}
	n.Out = n.In[:1]
	return func(c *Call) error {
		at, err := integer1(c.In[2])
		if err != nil {
			return fmt.Errorf("axis %w", err)
		}
		return gatherRows(c, c.tensor(0), c.tensor(1), at)
	}, anyThenInts(n, 1, 2)
}

// buildGatherFirst builds Gather of TensorFlow 1, along the first axis.
func buildGatherFirst(n *Node) (Kernel, error) {
	if err := n.takes(2); err != nil {
		return nil, err
	}
	n.Out = n.In[:1]
	return func(c *Call) error { return gatherRows(c, c.tensor(0), c.tensor(1), 0) }, anyThenInts(n, 1)
}

func gatherRows(c *Call, t, indices tensor.Tensor, at int) error {
	at, err := axis(at, len(t.Shape()))
	if err != nil {
		return err
	}
	shape := t.Shape()
	dims := slices.Concat(shape[:at], indices.Shape(), shape[at+1:])
	if err := c.allow(dims); err != nil {
		return err
	}
	return gathered(c, c.newOutputLike(0, t, dims...), t, at, c.integers(indices))
}

func gathered(c *Call, out, t tensor.Tensor, at int, indices []int) error {
	dim, inner := t.Shape()[at], tensor.Count(t.Shape()[at+1:])
	for i, index := range indices {
		if index < 0 || index >= dim {
			return fmt.Errorf("indices[%d] = %d is not in [0, %d)", i, index, dim)
		}
	}
	rows := tensor.Count(t.Shape()[:at])
	if rows == 1 && inner == 1 {
		c.take(out, t, indices)
		return nil
	}
	to := 0
	for r := range rows {
		for _, index := range indices {
			c.tick(inner)
			out.CopyFrom(to, t, (r*dim+index)*inner, inner)
			to += inner
		}
	}
	return nil
}

// buildGatherNd picks slices by indices of several dimensions: the last dimension of input 1.
func buildGatherNd(n *Node) (Kernel, error) {
	if err := n.takes(2); err != nil {
		return nil, err
	}
	n.Out = n.In[:1]
	return func(c *Call) error {
		t, by := c.tensor(0), c.tensor(1)
		if len(by.Shape()) == 0 {
			return errors.New("indices have no dimension")
		}
		last := len(by.Shape()) - 1
		depth := by.Shape()[last]
		if depth > len(t.Shape()) {
			return fmt.Errorf("indices of %d dimensions into shape %v", depth, t.Shape())
		}
		dims := slices.Concat(by.Shape()[:last], t.Shape()[depth:])
		if err := c.allow(dims); err != nil {
			return err
		}
		out, indices, inner := c.newOutputLike(0, t, dims...), c.ints(1), tensor.Count(t.Shape()[depth:])
		for i := range tensor.Count(by.Shape()[:last]) {
			from, err := flatIndex(indices[i*depth:(i+1)*depth], t.Shape())
			if err != nil {
				return err
			}
			c.tick(depth + inner)
			out.CopyFrom(i*inner, t, from*inner, inner)
		}
		return nil
	}, anyThenInts(n, 1)
}

// flatIndex returns the offset of an index in the first dimensions of a shape.
func flatIndex(index, dims []int) (int, error) {
	flat := 0
	for d, i := range index {
		if i < 0 || i >= dims[d] {
			return 0, fmt.Errorf("index %v is not in shape %v", index, dims)
		}
		flat = flat*dims[d] + i
	}
	return flat, nil
}
