package transform

import (
	"errors"
	"fmt"
	"slices"
)

// list is a TensorList: what a loop over rows leaves. Tensors that were not set are nil.
type list struct {
	elements []tensor
	shape    []int // of each tensor, -1 for what is not known
}

func buildListReserve(n *node) (kernel, error) {
	n.out = []dtype{variantType}
	return func(c *call) error {
		size, err := integer1(c.in[1])
		if err != nil || size < 0 || size > c.most {
			return fmt.Errorf("list of %d tensors", size)
		}
		c.out[0] = &list{elements: make([]tensor, size), shape: integers(c.in[0])}
		return nil
	}, n.wantInts(0, 1)
}

// buildListSet makes a list with one tensor set.
func buildListSet(n *node) (kernel, error) {
	n.out = []dtype{variantType}
	return func(c *call) error {
		l, err := listArg(c)
		if err != nil {
			return err
		}
		at, err := integer1(c.in[1])
		if err != nil {
			return err
		}
		if at < 0 || at >= len(l.elements) {
			return fmt.Errorf("place %d of a list of %d", at, len(l.elements))
		}
		elements := slices.Clone(l.elements)
		elements[at] = c.tensor(2)
		c.out[0] = &list{elements: elements, shape: l.shape}
		return nil
	}, n.want(variantType, int32Type, 0)
}

func listArg(c *call) (*list, error) {
	l, ok := c.in[0].(*list)
	if !ok {
		return nil, errors.New("input 0 is no list")
	}
	return l, nil
}

// buildListGet reads one tensor.
func buildListGet(n *node) (kernel, error) {
	t := n.dtype("element_dtype", 0)
	n.out = []dtype{t}
	if newTensor(t) == nil {
		return nil, fmt.Errorf("lists of %v: %w", t, errType)
	}
	return func(c *call) error {
		l, err := listArg(c)
		if err != nil {
			return err
		}
		at, err := integer1(c.in[1])
		if err != nil {
			return err
		}
		if at < 0 || at >= len(l.elements) || l.elements[at] == nil || l.elements[at].dtype() != t {
			return fmt.Errorf("place %d of a list of %d holds no %v", at, len(l.elements), t)
		}
		c.out[0] = l.elements[at]
		return nil
	}, n.want(variantType, int32Type, int32Type)
}

// buildListFromTensor makes a list of the rows of a tensor.
func buildListFromTensor(n *node) (kernel, error) {
	n.out = []dtype{variantType}
	return func(c *call) error {
		t := c.tensor(0)
		if len(t.shape()) == 0 {
			return errors.New("a scalar has no rows")
		}
		l := &list{shape: slices.Clone(t.shape()[1:])}
		width := count(l.shape)
		for row := range t.shape()[0] {
			element := t.room(nil, l.shape)
			element.copy(0, t, row*width, width)
			l.elements = append(l.elements, element)
		}
		c.out[0] = l
		return nil
	}, n.want(0, int32Type)
}

// buildListConcat joins the tensors along their first dimension, and gives their lengths.
func buildListConcat(n *node) (kernel, error) {
	t := newTensor(n.dtype("element_dtype", 0))
	if t == nil {
		return nil, fmt.Errorf("lists of %v: %w", n.dtype("element_dtype", 0), errType)
	}
	n.out = []dtype{t.dtype(), int64Type}
	if err := errors.Join(n.takes(3), n.wantInts(1)); err != nil {
		return nil, err
	}
	return func(c *call) error {
		parts, err := listParts(c, t)
		if err != nil {
			return err
		}
		lengths := room[int64](c, 1, len(parts))
		for i, p := range parts {
			if len(p.(tensor).shape()) == 0 {
				return errors.New("scalars can't be joined")
			}
			lengths.data[i] = int64(p.(tensor).shape()[0])
		}
		if len(parts) == 0 {
			dims := integers(c.in[1])
			if len(dims) == 0 || len(c.tensor(1).shape()) == 0 {
				return errors.New("the shape of nothing isn't known")
			}
			dims[0] = 0
			if err := c.allow(dims); err != nil {
				return err
			}
			c.roomLike(0, t, dims...)
			return nil
		}
		return joined(c, parts, 0)
	}, n.wantAt(0, variantType)
}

// buildListStack packs the tensors along a new first dimension.
func buildListStack(n *node) (kernel, error) {
	t := newTensor(n.dtype("element_dtype", 0))
	if t == nil {
		return nil, fmt.Errorf("lists of %v: %w", n.dtype("element_dtype", 0), errType)
	}
	n.out = []dtype{t.dtype()}
	return func(c *call) error {
		parts, err := listParts(c, t)
		if err != nil {
			return err
		}
		dims := integers(c.in[1])
		if len(parts) > 0 {
			dims = parts[0].(tensor).shape()
		}
		dims = slices.Insert(slices.Clone(dims), 0, len(parts))
		if err := c.allow(dims); err != nil {
			return err
		}
		out, width := c.roomLike(0, t, dims...), count(dims[1:])
		for i, p := range parts {
			if !slices.Equal(p.(tensor).shape(), dims[1:]) {
				return fmt.Errorf("shapes %v and %v can't be stacked", dims[1:], p.(tensor).shape())
			}
			out.copy(i*width, p.(tensor), 0, width)
		}
		return nil
	}, n.want(variantType, int32Type)
}

// listParts are the tensors of a list, which all have to be there and of type t.
func listParts(c *call, t tensor) ([]value, error) {
	l, err := listArg(c)
	if err != nil {
		return nil, err
	}
	parts := make([]value, len(l.elements))
	for i, e := range l.elements {
		if e == nil || e.dtype() != t.dtype() {
			return nil, fmt.Errorf("element %d of the list is not set, or not of %v", i, t.dtype())
		}
		parts[i] = e
	}
	return parts, nil
}
