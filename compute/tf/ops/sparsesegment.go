package ops

import (
	"errors"
	"fmt"
	"math"
	"slices"

	"github.com/stoker-ml/stoker/compute/tf/tensor"
)

// scale returns the divisor of the sum of a segment with so many rows.
type scale func(rows int) float64

func ofSum(int) float64        { return 1 }
func ofMean(rows int) float64  { return float64(rows) }
func ofSqrtN(rows int) float64 { return math.Sqrt(float64(rows)) }

// sparseSegments adds up rows of input 0, those of the indices in input 1, by the segments in input
// 2, which don't decrease. Segments without rows are 0. The number of segments is one more than the
// last one, or input 3.
func sparseSegments(by scale, numbered bool) Op {
	inputs := 3
	if numbered {
		inputs = 4
	}
	return Op{Build: func(n *Node) (Kernel, error) {
		if err := errors.Join(n.takes(inputs), n.wantInts(1, 2)); err != nil {
			return nil, err
		}
		n.Out = n.In[:1]
		switch n.In[0] {
		case tensor.Float32:
			return func(c *Call) error { return sumRows[float32](c, by) }, nil
		case tensor.Float64:
			return func(c *Call) error { return sumRows[float64](c, by) }, nil
		}
		return nil, fmt.Errorf("input 0 is %v: %w", n.In[0], errType)
	}}
}

func sumRows[T floating](c *Call, by scale) error {
	a, indices, ids := arg[T](c, 0), c.ints(1), c.ints(2)
	if len(a.Dims) == 0 || len(indices) != len(ids) {
		return fmt.Errorf("%d indices and %d segments for shape %v", len(indices), len(ids), a.Dims)
	}
	segments, err := countSegments(c, ids)
	if err != nil {
		return err
	}
	dims := slices.Clone(a.Dims)
	dims[0] = segments
	if err := c.allow(dims); err != nil {
		return err
	}
	out, width := newOutput[T](c, 0, dims...).Data, tensor.Count(a.Dims[1:])
	clear(out)
	for start := 0; start < len(ids); {
		end := start + 1
		for end < len(ids) && ids[end] == ids[start] {
			end++
		}
		to := out[ids[start]*width : (ids[start]+1)*width]
		for i, index := range indices[start:end] {
			if index < 0 || index >= a.Dims[0] {
				return fmt.Errorf("indices[%d] = %d is not in [0, %d)", start+i, index, a.Dims[0])
			}
			c.tick(width)
			for k, v := range a.Data[index*width : (index+1)*width] {
				to[k] += v
			}
		}
		if divisor := T(by(end - start)); divisor != 1 {
			for k := range to {
				to[k] /= divisor
			}
		}
		start = end
	}
	return nil
}

// countSegments returns input 3, or one more than the last of the segments, which must not
// decrease.
func countSegments(c *Call, ids []int) (int, error) {
	segments := 0
	for i, id := range ids {
		if id < 0 || i > 0 && id < ids[i-1] {
			return 0, fmt.Errorf("segment %d after %d", id, ids[max(0, i-1)])
		}
		segments = id + 1
	}
	if len(c.In) < 4 {
		return segments, nil
	}
	number, err := integer1(c.In[3])
	if err == nil && number < segments {
		err = fmt.Errorf("segment %d of %d", segments-1, number)
	}
	return number, err
}
