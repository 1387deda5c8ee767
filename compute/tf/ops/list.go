package ops

import (
	"errors"
	"fmt"
	"slices"

	"github.com/stoker-ml/stoker/compute/tf/tensor"
)

// list is a TensorList: the results of a loop over rows. Tensors that were not set are nil.
type list struct {
	elements []tensor.Tensor
	shape    []int // of each tensor, -1 for what is not known
	bytes    int64 // of all of it
}

// elementBytes is the memory of an element of a list.
const elementBytes = 16

// newList returns a list of that many tensors, which are charged when they are set.
func newList(c *Call, size int, shape []int) *list {
	bytes := elementBytes * int64(size)
	c.charge(bytes)
	return &list{elements: make([]tensor.Tensor, size), shape: shape, bytes: bytes}
}

func buildListReserve(n *Node) (Kernel, error) {
	n.Out = []tensor.DType{tensor.Variant}
	return func(c *Call) error {
		size, err := integer1(c.In[1])
		if err != nil || size < 0 || size > c.Most {
			return fmt.Errorf("list of %d tensors", size)
		}
		c.Out[0] = newList(c, size, tensor.Integers(c.In[0]))
		return nil
	}, n.wantInts(0, 1)
}

// buildListSet makes a list with one tensor set.
func buildListSet(n *Node) (Kernel, error) {
	n.Out = []tensor.DType{tensor.Variant}
	return func(c *Call) error {
		l, err := listArg(c)
		if err != nil {
			return err
		}
		at, err := integer1(c.In[1])
		if err != nil {
			return err
		}
		if at < 0 || at >= len(l.elements) {
			return fmt.Errorf("place %d of a list of %d", at, len(l.elements))
		}
		made := newList(c, len(l.elements), l.shape)
		c.tick(len(l.elements))
		copy(made.elements, l.elements)
		made.elements[at] = c.tensor(2)
		made.bytes = l.bytes + SizeOf(c.In[2])
		if before := l.elements[at]; before != nil {
			made.bytes -= SizeOf(before)
		}
		c.Out[0] = made
		return nil
	}, n.want(tensor.Variant, tensor.Int32, 0)
}

func listArg(c *Call) (*list, error) {
	l, ok := c.In[0].(*list)
	if !ok {
		return nil, errors.New("input 0 is no list")
	}
	return l, nil
}

// buildListGet reads one tensor.
func buildListGet(n *Node) (Kernel, error) {
	t := n.dtype("element_dtype", 0)
	n.Out = []tensor.DType{t}
	if tensor.Empty(t) == nil {
		return nil, fmt.Errorf("lists of %v: %w", t, errType)
	}
	return func(c *Call) error {
		l, err := listArg(c)
		if err != nil {
			return err
		}
		at, err := integer1(c.In[1])
		if err != nil {
			return err
		}
		if at < 0 || at >= len(l.elements) || l.elements[at] == nil || l.elements[at].DType() != t {
			return fmt.Errorf("place %d of a list of %d holds no %v", at, len(l.elements), t)
		}
		c.Out[0] = l.elements[at]
		return nil
	}, n.want(tensor.Variant, tensor.Int32, tensor.Int32)
}

// buildListFromTensor makes a list of the rows of a tensor.
func buildListFromTensor(n *Node) (Kernel, error) {
	n.Out = []tensor.DType{tensor.Variant}
	return func(c *Call) error {
		t := c.tensor(0)
		if len(t.Shape()) == 0 {
			return errors.New("a scalar has no rows")
		}
		rows, shape := t.Shape()[0], slices.Clone(t.Shape()[1:])
		width := tensor.Count(shape)
		l := newList(c, rows, shape)
		content := int64(rows) * (arrayBytes + 8*int64(len(shape)) + int64(width)*t.ElementBytes())
		c.charge(content)
		l.bytes += content
		for row := range rows {
			c.tick(width)
			element := t.Reuse(nil, shape)
			element.CopyFrom(0, t, row*width, width)
			l.elements[row] = element
		}
		c.Out[0] = l
		return nil
	}, n.want(0, tensor.Int32)
}

// buildListConcat joins the tensors along their first dimension, and returns their lengths.
func buildListConcat(n *Node) (Kernel, error) {
	t := tensor.Empty(n.dtype("element_dtype", 0))
	if t == nil {
		return nil, fmt.Errorf("lists of %v: %w", n.dtype("element_dtype", 0), errType)
	}
	n.Out = []tensor.DType{t.DType(), tensor.Int64}
	if err := errors.Join(n.takes(3), n.wantInts(1)); err != nil {
		return nil, err
	}
	return func(c *Call) error {
		parts, err := listParts(c, t)
		if err != nil {
			return err
		}
		lengths := newOutput[int64](c, 1, len(parts))
		for i, p := range parts {
			if len(p.(tensor.Tensor).Shape()) == 0 {
				return errors.New("scalars can't be joined")
			}
			lengths.Data[i] = int64(p.(tensor.Tensor).Shape()[0])
		}
		if len(parts) == 0 {
			dims := c.ints(1)
			if len(dims) == 0 || len(c.tensor(1).Shape()) == 0 {
				return errors.New("the shape of nothing isn't known")
			}
			dims[0] = 0
			if err := c.allow(dims); err != nil {
				return err
			}
			c.newOutputLike(0, t, dims...)
			return nil
		}
		return joined(c, parts, 0)
	}, n.wantAt(0, tensor.Variant)
}

// buildListStack packs the tensors along a new first dimension.
func buildListStack(n *Node) (Kernel, error) {
	t := tensor.Empty(n.dtype("element_dtype", 0))
	if t == nil {
		return nil, fmt.Errorf("lists of %v: %w", n.dtype("element_dtype", 0), errType)
	}
	n.Out = []tensor.DType{t.DType()}
	return func(c *Call) error {
		parts, err := listParts(c, t)
		if err != nil {
			return err
		}
		dims := c.ints(1)
		if len(parts) > 0 {
			dims = parts[0].(tensor.Tensor).Shape()
		}
		dims = slices.Insert(slices.Clone(dims), 0, len(parts))
		if err := c.allow(dims); err != nil {
			return err
		}
		out, width := c.newOutputLike(0, t, dims...), tensor.Count(dims[1:])
		for i, p := range parts {
			if !slices.Equal(p.(tensor.Tensor).Shape(), dims[1:]) {
				return fmt.Errorf("shapes %v and %v can't be stacked", dims[1:], p.(tensor.Tensor).Shape())
			}
			c.tick(width)
			out.CopyFrom(i*width, p.(tensor.Tensor), 0, width)
		}
		return nil
	}, n.want(tensor.Variant, tensor.Int32)
}

// listParts returns the tensors of a list, which must all exist and be of type t.
func listParts(c *Call, t tensor.Tensor) ([]Value, error) {
	l, err := listArg(c)
	if err != nil {
		return nil, err
	}
	c.use(elementBytes * int64(len(l.elements)))
	parts := make([]Value, len(l.elements))
	for i, e := range l.elements {
		if e == nil || e.DType() != t.DType() {
			return nil, fmt.Errorf("element %d of the list is not set, or not of %v", i, t.DType())
		}
		parts[i] = e
	}
	return parts, nil
}
