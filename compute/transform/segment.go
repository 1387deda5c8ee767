package transform

import (
	"fmt"
	"slices"
)

// unsorted is an op that reduces the rows of input 0 that have the same segment in input 1, of as many segments as input 2
// says. A row of a negative segment is left out.
func unsorted(kernels byType) op {
	return op{build: func(n *node) (kernel, error) {
		if err := n.takes(3); err != nil {
			return nil, err
		}
		k, ok := kernels[n.in[0]]
		if !ok {
			return nil, fmt.Errorf("input 0 is %v: %w", n.in[0], errType)
		}
		n.out = n.in[:1]
		return k, n.wantInts(1, 2)
	}}
}

func unsortedNumbers(f32 kernel, f64 kernel, i32 kernel, i64 kernel) byType {
	return byType{float32Type: f32, float64Type: f64, int32Type: i32, int64Type: i64}
}

// intoSegments folds with f, from start on: what a segment without rows has.
func intoSegments[T number](start T, f func(a, b T) T) kernel {
	return func(c *call) error {
		a := arg[T](c, 0)
		segments, err := integer1(c.in[2])
		if err != nil {
			return fmt.Errorf("number of segments %w", err)
		}
		return foldSegments(c, a, integers(c.in[1]), segments, start, f)
	}
}

func foldSegments[T number](c *call, a *array[T], ids []int, segments int, start T, f func(a, b T) T) error {
	lead := c.tensor(1).shape()
	if len(lead) > len(a.dims) || !slices.Equal(lead, a.dims[:len(lead)]) {
		return fmt.Errorf("segments of shape %v for a tensor of shape %v", lead, a.dims)
	}
	dims := slices.Concat([]int{segments}, a.dims[len(lead):])
	if err := c.allow(dims); err != nil {
		return err
	}
	inner := count(a.dims[len(lead):])
	out := room[T](c, 0, dims...)
	for i := range out.data {
		out.data[i] = start
	}
	for i, id := range ids {
		if id >= segments {
			return fmt.Errorf("segment %d of %d", id, segments)
		}
		if id < 0 {
			continue
		}
		for k := range inner {
			at := &out.data[id*inner+k]
			*at = f(*at, a.data[i*inner+k])
		}
	}
	return nil
}

// above and under go on from a NaN as if it hadn't been there, which Max and Min of a dense tensor don't.
func above[T number](a, b T) T {
	if a > b {
		return a
	}
	return b
}

func under[T number](a, b T) T {
	if a < b {
		return a
	}
	return b
}

// sortedSegments is SegmentSum and its like: segments don't fall, and the last says how many there are.
func sortedSegments(kernels byType) op {
	return op{build: func(n *node) (kernel, error) {
		if err := n.takes(2); err != nil {
			return nil, err
		}
		k, ok := kernels[n.in[0]]
		if !ok {
			return nil, fmt.Errorf("input 0 is %v: %w", n.in[0], errType)
		}
		n.out = n.in[:1]
		return k, n.wantInts(1)
	}}
}

func addSegments[T number](c *call) error {
	ids := integers(c.in[1])
	if len(c.tensor(1).shape()) != 1 || len(c.tensor(0).shape()) == 0 {
		return fmt.Errorf("segments of shape %v", c.tensor(1).shape())
	}
	segments := 0
	for i, id := range ids {
		if id < 0 || i > 0 && id < ids[i-1] {
			return fmt.Errorf("segment %d after %d", id, ids[max(0, i-1)])
		}
		segments = id + 1
	}
	return foldSegments(c, arg[T](c, 0), ids, segments, 0, plus[T])
}

// buildSegmentJoin joins the strings of each segment.
func buildSegmentJoin(n *node) (kernel, error) {
	separator := n.text("separator", "")
	n.out = []dtype{stringType}
	if err := n.takes(3); err != nil {
		return nil, err
	}
	if err := n.wantAt(0, stringType); err != nil {
		return nil, err
	}
	return func(c *call) error {
		a, ids := arg[string](c, 0), integers(c.in[1])
		segments, err := integer1(c.in[2])
		if err != nil {
			return fmt.Errorf("number of segments %w", err)
		}
		if err := c.allow([]int{segments}); err != nil || !slices.Equal(a.dims, c.tensor(1).shape()) {
			return fmt.Errorf("%d segments of shape %v for shape %v", segments, c.tensor(1).shape(), a.dims)
		}
		out := room[string](c, 0, segments).data
		clear(out)
		for i, id := range ids {
			if id >= segments {
				return fmt.Errorf("segment %d of %d", id, segments)
			}
			if id >= 0 && out[id] != "" { // TensorFlow leaves the separator out after nothing but empty strings
				out[id] += separator
			}
			if id >= 0 {
				out[id] += a.data[i]
			}
		}
		return nil
	}, n.wantInts(1, 2)
}
