package transform

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"sort"
)

// searchOp is UpperBound and LowerBound: for each value the number of boundaries that pass, of those in the same row.
func searchOp(f32 func(boundary, v float32) bool, f64 func(boundary, v float64) bool, i32 func(boundary, v int32) bool,
	i64 func(boundary, v int64) bool,
) op {
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

// notAbove passes for UpperBound, and for every boundary of a NaN.
func notAbove[T cmp.Ordered](boundary, v T) bool { return !(v < boundary) }

// below passes for LowerBound, and for no boundary of a NaN.
func below[T cmp.Ordered](boundary, v T) bool { return boundary < v }

func search[T number](out dtype, passes func(boundary, v T) bool) (kernel, error) {
	switch out {
	case int32Type:
		return searchInto[T, int32](passes), nil
	case int64Type:
		return searchInto[T, int64](passes), nil
	}
	return nil, fmt.Errorf("out_type is %v: %w", out, errType)
}

func searchInto[T number, I int32 | int64](passes func(boundary, v T) bool) kernel {
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
				v := values.data[i]
				low, high := 0, width
				for low < high {
					if middle := (low + high) / 2; passes(boundaries[middle], v) {
						low = middle + 1
					} else {
						high = middle
					}
				}
				out[i] = I(low)
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
	bucket := func(v float32) int32 {
		return int32(sort.Search(len(boundaries), func(i int) bool { return v < boundaries[i] }))
	}
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
