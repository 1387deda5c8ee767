package ops

import (
	"fmt"

	"github.com/stoker-ml/stoker/compute/tf/tensor"
)

// slicer is the attributes of a StridedSlice: bit i of a mask is for element i of begin, end and
// strides.
type slicer struct{ begin, end, ellipsis, newAxis, shrink int }

func buildStridedSlice(n *Node) (Kernel, error) {
	if err := n.takes(4); err != nil {
		return nil, err
	}
	n.Out = n.In[:1]
	s := slicer{
		begin: n.Integer("begin_mask", 0), end: n.Integer("end_mask", 0), ellipsis: n.Integer("ellipsis_mask", 0),
		newAxis: n.Integer("new_axis_mask", 0), shrink: n.Integer("shrink_axis_mask", 0),
	}
	return func(c *Call) error {
		start, dims, steps, err := s.view(c.tensor(0).Shape(), c.ints(1), c.ints(2), c.ints(3))
		if err != nil {
			return err
		}
		viewed(c, start, dims, steps)
		return nil
	}, anyThenInts(n, 1, 2, 3)
}

// view returns the view x[begin:end:stride, ...] of a tensor of shape from, as in Python.
func (s slicer) view(from, begin, end, strides []int) (start int, dims, steps []int, err error) {
	if len(begin) != len(end) || len(end) != len(strides) || len(begin) > 31 {
		return 0, nil, nil, fmt.Errorf("slice begins at %v, ends at %v and has strides %v", begin, end, strides)
	}
	own, axis := tensor.Strides(from), 0
	keep := func(from, stride int) { dims, steps = append(dims, from), append(steps, stride) }
	for i := range begin {
		bit := 1 << i
		switch {
		case s.ellipsis&bit != 0: // as many dimensions as the elements after it leave
			for rest := len(from) - s.consumed(i+1, len(begin)); axis < rest; axis++ {
				keep(from[axis], own[axis])
			}
			continue
		case s.newAxis&bit != 0:
			keep(1, 0)
			continue
		case axis >= len(from):
			return 0, nil, nil, fmt.Errorf("slice has more dimensions than shape %v", from)
		}
		first, size, err := s.along(from[axis], begin[i], end[i], strides[i], bit)
		if err != nil {
			return 0, nil, nil, err
		}
		start += first * own[axis]
		if s.shrink&bit == 0 {
			keep(size, strides[i]*own[axis])
		}
		axis++
	}
	for ; axis < len(from); axis++ {
		keep(from[axis], own[axis])
	}
	if tensor.Count(dims) == 0 {
		start = 0
	}
	return start, dims, steps, nil
}

// consumed returns how many dimensions the elements from i on are for.
func (s slicer) consumed(i, places int) int {
	n := 0
	for ; i < places; i++ {
		if s.newAxis&(1<<i) == 0 {
			n++
		}
	}
	return n
}

// along returns the first element and the number of elements along one dimension.
func (s slicer) along(dim, begin, end, stride, bit int) (first, size int, err error) {
	if stride == 0 {
		return 0, 0, fmt.Errorf("stride is 0")
	}
	if s.shrink&bit != 0 { // one element: the masks have no effect
		if begin < 0 {
			begin += dim
		}
		if stride < 0 || begin < 0 || begin >= dim {
			return 0, 0, fmt.Errorf("index %d of a dimension of %d", begin, dim)
		}
		return begin, 1, nil
	}
	low, high := 0, dim
	if stride < 0 {
		low, high = -1, dim-1
	}
	bound := func(at int, masked bool, open int) int {
		if masked {
			return open
		}
		if at < 0 {
			at += dim
		}
		return min(max(at, low), high)
	}
	if stride > 0 {
		begin, end = bound(begin, s.begin&bit != 0, 0), bound(end, s.end&bit != 0, dim)
		return begin, max(0, (end-begin+stride-1)/stride), nil
	}
	begin, end = bound(begin, s.begin&bit != 0, dim-1), bound(end, s.end&bit != 0, -1)
	return begin, max(0, (begin-end-stride-1)/-stride), nil
}
