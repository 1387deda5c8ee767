package ops

import (
	"errors"
	"fmt"
	"slices"

	"github.com/stoker-ml/stoker/compute/tf/tensor"
)

// searchOp builds UpperBound and LowerBound: for each value its position among the boundaries of
// the same row.
func searchOp(f32 place[float32], f64 place[float64], i32 place[int32], i64 place[int64]) Op {
	return Op{Build: func(n *Node) (Kernel, error) {
		out := n.dtype("out_type", tensor.Int32)
		n.Out = []tensor.DType{out}
		if err := errors.Join(n.takes(2), n.wantSame()); err != nil {
			return nil, err
		}
		switch n.In[0] {
		case tensor.Float32:
			return search(out, f32)
		case tensor.Float64:
			return search(out, f64)
		case tensor.Int32:
			return search(out, i32)
		case tensor.Int64:
			return search(out, i64)
		}
		return nil, fmt.Errorf("input 0 is %v: %w", n.In[0], errType)
	}}
}

// place is the number of boundaries, which ascend, that are before v.
type place[T number] func(boundaries []T, v T) int

// upperBound counts the boundaries that aren't above v: all for a NaN.
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

// lowerBound counts the boundaries that are below v: none for a NaN.
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

func search[T number](out tensor.DType, find place[T]) (Kernel, error) {
	switch out {
	case tensor.Int32:
		return searchInto[T, int32](find), nil
	case tensor.Int64:
		return searchInto[T, int64](find), nil
	}
	return nil, fmt.Errorf("out_type is %v: %w", out, errType)
}

func searchInto[T number, I int32 | int64](find place[T]) Kernel {
	return func(c *Call) error {
		sorted, values := arg[T](c, 0), arg[T](c, 1)
		if len(sorted.Dims) != 2 || len(values.Dims) != 2 || sorted.Dims[0] != values.Dims[0] {
			return fmt.Errorf("boundaries of shape %v for values of shape %v", sorted.Dims, values.Dims)
		}
		out := newOutput[I](c, 0, values.Dims...).Data
		width, across := sorted.Dims[1], values.Dims[1]
		for row := range values.Dims[0] {
			boundaries := sorted.Data[row*width : (row+1)*width]
			c.tick(across)
			for i := row * across; i < (row+1)*across; i++ {
				out[i] = I(find(boundaries, values.Data[i]))
			}
		}
		return nil
	}
}

// buildBucketize builds the op with boundaries as attribute, which tf.Transform doesn't use, but
// users may.
func buildBucketize(n *Node) (Kernel, error) {
	boundaries := n.attr("boundaries").GetList().GetF()
	n.Out = []tensor.DType{tensor.Int32}
	if err := n.want(0); err != nil {
		return nil, err
	}
	bucket := func(v float32) int32 { return int32(upperBound(boundaries, v)) }
	kernels := byType{
		tensor.Float32: each(mapping(bucket)),
		tensor.Float64: each(mapping(func(v float64) int32 { return bucket(float32(v)) })),
		tensor.Int32:   each(mapping(func(v int32) int32 { return bucket(float32(v)) })),
		tensor.Int64:   each(mapping(func(v int64) int32 { return bucket(float32(v)) })),
	}
	k, ok := kernels[n.In[0]]
	if !ok {
		return nil, fmt.Errorf("input 0 is %v: %w", n.In[0], errType)
	}
	return k, nil
}

// buildTopK builds the op that returns the largest elements of each row, largest first, and their
// indices. Equal ones stay in order.
func buildTopK(n *Node) (Kernel, error) {
	if err := errors.Join(n.takes(2), n.wantInts(1)); err != nil {
		return nil, err
	}
	n.Out = []tensor.DType{n.In[0], n.dtype("index_type", tensor.Int32)}
	if n.Out[1] != tensor.Int32 {
		return nil, fmt.Errorf("index_type is %v: %w", n.Out[1], errType)
	}
	kernels := byType{
		tensor.Float32: topOf[float32], tensor.Float64: topOf[float64], tensor.Int32: topOf[int32], tensor.Int64: topOf[int64],
	}
	k, ok := kernels[n.In[0]]
	if !ok {
		return nil, fmt.Errorf("input 0 is %v: %w", n.In[0], errType)
	}
	return k, nil
}

func topOf[T number](c *Call) error {
	in := arg[T](c, 0)
	k, err := integer1(c.In[1])
	if err != nil {
		return fmt.Errorf("k %w", err)
	}
	last := len(in.Dims) - 1
	if last < 0 || k < 0 || k > in.Dims[last] {
		return fmt.Errorf("the top %d of shape %v", k, in.Dims)
	}
	dims, width := slices.Clone(in.Dims), in.Dims[last]
	dims[last] = k
	values, indices := newOutput[T](c, 0, dims...), newOutput[int32](c, 1, dims...)
	for row := range tensor.Count(in.Dims[:last]) {
		from := in.Data[row*width : (row+1)*width]
		order := c.counting(width)
		slices.SortStableFunc(order, func(i, j int) int {
			c.tick(1)
			switch {
			case from[i] > from[j]:
				return -1
			case from[i] < from[j]:
				return 1
			}
			return 0
		})
		for i, at := range order[:k] {
			values.Data[row*k+i], indices.Data[row*k+i] = from[at], int32(at)
		}
		c.drop(8 * int64(width))
	}
	return nil
}
