package transform

import (
	"errors"
	"fmt"
	"slices"
)

// searchOp is UpperBound and LowerBound: for each value its place among the boundaries in the same row.
func searchOp(f32 place[float32], f64 place[float64], i32 place[int32], i64 place[int64]) op {
	return op{build: func(n *node) (kernel, error) {
		out := n.dtype("out_type", int32Type)
		n.out = []dtype{out}
		if err := errors.Join(n.takes(2), n.wantSame()); err != nil {
			return nil, err
		}
		switch n.in[0] {
		case float32Type:
			return search(out, f32)
		case float64Type:
			return search(out, f64)
		case int32Type:
			return search(out, i32)
		case int64Type:
			return search(out, i64)
		}
		return nil, fmt.Errorf("input 0 is %v: %w", n.in[0], errType)
	}}
}

// place is the number of boundaries, which ascend, that stand before v.
type place[T number] func(boundaries []T, v T) int

// upperBound counts the boundaries that aren't above v: of a NaN all.
func upperBound[T number](boundaries []T, v T) int {
	low, high := 0, len(boundaries)
	for low < high {
		if middle := (low + high) / 2; !(v < boundaries[middle]) {
			low = middle + 1
		} else {
			high = middle
		}
	}
	return low
}

// lowerBound counts the boundaries that are below v: of a NaN none.
func lowerBound[T number](boundaries []T, v T) int {
	low, high := 0, len(boundaries)
	for low < high {
		if middle := (low + high) / 2; boundaries[middle] < v {
			low = middle + 1
		} else {
			high = middle
		}
	}
	return low
}

func search[T number](out dtype, find place[T]) (kernel, error) {
	switch out {
	case int32Type:
		return searchInto[T, int32](find), nil
	case int64Type:
		return searchInto[T, int64](find), nil
	}
	return nil, fmt.Errorf("out_type is %v: %w", out, errType)
}

func searchInto[T number, I int32 | int64](find place[T]) kernel {
	return func(c *call) error {
		sorted, values := arg[T](c, 0), arg[T](c, 1)
		if len(sorted.dims) != 2 || len(values.dims) != 2 || sorted.dims[0] != values.dims[0] {
			return fmt.Errorf("boundaries of shape %v for values of shape %v", sorted.dims, values.dims)
		}
		out := room[I](c, 0, values.dims...).data
		width, across := sorted.dims[1], values.dims[1]
		for row := range values.dims[0] {
			boundaries := sorted.data[row*width : (row+1)*width]
			for i := row * across; i < (row+1)*across; i++ {
				out[i] = I(find(boundaries, values.data[i]))
			}
		}
		return nil
	}
}

// buildBucketize is the op with boundaries as attribute, which tf.Transform doesn't use but users may.
func buildBucketize(n *node) (kernel, error) {
	boundaries := n.attr("boundaries").GetList().GetF()
	n.out = []dtype{int32Type}
	if err := n.want(0); err != nil {
		return nil, err
	}
	bucket := func(v float32) int32 { return int32(upperBound(boundaries, v)) }
	kernels := byType{
		float32Type: each(mapping(bucket)),
		float64Type: each(mapping(func(v float64) int32 { return bucket(float32(v)) })),
		int32Type:   each(mapping(func(v int32) int32 { return bucket(float32(v)) })),
		int64Type:   each(mapping(func(v int64) int32 { return bucket(float32(v)) })),
	}
	k, ok := kernels[n.in[0]]
	if !ok {
		return nil, fmt.Errorf("input 0 is %v: %w", n.in[0], errType)
	}
	return k, nil
}

// buildTopK gives the largest elements of each row, largest first, and their places. Of equal ones the first comes first.
func buildTopK(n *node) (kernel, error) {
	if err := errors.Join(n.takes(2), n.wantInts(1)); err != nil {
		return nil, err
	}
	n.out = []dtype{n.in[0], n.dtype("index_type", int32Type)}
	if n.out[1] != int32Type {
		return nil, fmt.Errorf("index_type is %v: %w", n.out[1], errType)
	}
	kernels := byType{
		float32Type: topOf[float32], float64Type: topOf[float64], int32Type: topOf[int32], int64Type: topOf[int64],
	}
	k, ok := kernels[n.in[0]]
	if !ok {
		return nil, fmt.Errorf("input 0 is %v: %w", n.in[0], errType)
	}
	return k, nil
}

func topOf[T number](c *call) error {
	in := arg[T](c, 0)
	k, err := integer1(c.in[1])
	if err != nil {
		return fmt.Errorf("k %w", err)
	}
	last := len(in.dims) - 1
	if last < 0 || k < 0 || k > in.dims[last] {
		return fmt.Errorf("the top %d of shape %v", k, in.dims)
	}
	dims, width := slices.Clone(in.dims), in.dims[last]
	dims[last] = k
	values, indices := room[T](c, 0, dims...), room[int32](c, 1, dims...)
	for row := range count(in.dims[:last]) {
		from := in.data[row*width : (row+1)*width]
		order := counting(width)
		slices.SortStableFunc(order, func(i, j int) int {
			switch {
			case from[i] > from[j]:
				return -1
			case from[i] < from[j]:
				return 1
			}
			return 0
		})
		for i, at := range order[:k] {
			values.data[row*k+i], indices.data[row*k+i] = from[at], int32(at)
		}
	}
	return nil
}
