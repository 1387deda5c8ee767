package ops

import (
	"fmt"
	"slices"
	"unsafe"

	"github.com/stoker-ml/stoker/compute/tf/tensor"
)

// unsorted returns an op that reduces the rows of input 0 that have the same segment in input 1, of
// as many segments as input 2. A row of a negative segment is ignored.
func unsorted(kernels byType) Op {
	return Op{Build: func(n *Node) (Kernel, error) {
		if err := n.takes(3); err != nil {
			return nil, err
		}
		k, ok := kernels[n.In[0]]
		if !ok {
			return nil, fmt.Errorf("input 0 is %v: %w", n.In[0], errType)
		}
		n.Out = n.In[:1]
		return k, n.wantInts(1, 2)
	}}
}

func unsortedNumbers(f32 Kernel, f64 Kernel, i32 Kernel, i64 Kernel) byType {
	return byType{tensor.Float32: f32, tensor.Float64: f64, tensor.Int32: i32, tensor.Int64: i64}
}

// intoSegments reduces with f, from start on, which is the value of a segment without rows.
func intoSegments[T number](start T, f func(a, b T) T) Kernel {
	return func(c *Call) error {
		a := arg[T](c, 0)
		segments, err := integer1(c.In[2])
		if err != nil {
			return fmt.Errorf("number of segments %w", err)
		}
		return foldSegments(c, a, c.ints(1), segments, start, f)
	}
}

func foldSegments[T number](c *Call, a *tensor.Array[T], ids []int, segments int, start T, f func(a, b T) T) error {
	lead := c.tensor(1).Shape()
	if len(lead) > len(a.Dims) || !slices.Equal(lead, a.Dims[:len(lead)]) {
		return fmt.Errorf("segments of shape %v for a tensor of shape %v", lead, a.Dims)
	}
	dims := slices.Concat([]int{segments}, a.Dims[len(lead):])
	if err := c.allow(dims); err != nil {
		return err
	}
	inner := tensor.Count(a.Dims[len(lead):])
	out := newOutput[T](c, 0, dims...)
	for i := range out.Data {
		out.Data[i] = start
	}
	for i, id := range ids {
		if id >= segments {
			return fmt.Errorf("segment %d of %d", id, segments)
		}
		if id < 0 {
			continue
		}
		c.tick(inner)
		for k := range inner {
			at := &out.Data[id*inner+k]
			*at = f(*at, a.Data[i*inner+k])
		}
	}
	return nil
}

// above and under ignore a NaN, which Max and Min of a dense tensor don't.
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

// sortedSegments builds SegmentSum and similar ops: segments don't decrease, and the last one
// determines their number.
func sortedSegments(kernels byType) Op {
	return Op{Build: func(n *Node) (Kernel, error) {
		if err := n.takes(2); err != nil {
			return nil, err
		}
		k, ok := kernels[n.In[0]]
		if !ok {
			return nil, fmt.Errorf("input 0 is %v: %w", n.In[0], errType)
		}
		n.Out = n.In[:1]
		return k, n.wantInts(1)
	}}
}

func addSegments[T number](c *Call) error {
	ids := c.ints(1)
	if len(c.tensor(1).Shape()) != 1 || len(c.tensor(0).Shape()) == 0 {
		return fmt.Errorf("segments of shape %v", c.tensor(1).Shape())
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
func buildSegmentJoin(n *Node) (Kernel, error) {
	separator := n.Text("separator", "")
	n.Out = []tensor.DType{tensor.String}
	if err := n.takes(3); err != nil {
		return nil, err
	}
	if err := n.wantAt(0, tensor.String); err != nil {
		return nil, err
	}
	return func(c *Call) error {
		a, ids := arg[string](c, 0), c.ints(1)
		segments, err := integer1(c.In[2])
		if err != nil {
			return fmt.Errorf("number of segments %w", err)
		}
		if err := c.allow([]int{segments}); err != nil || !slices.Equal(a.Dims, c.tensor(1).Shape()) {
			return fmt.Errorf("%d segments of shape %v for shape %v", segments, c.tensor(1).Shape(), a.Dims)
		}
		out := newOutput[string](c, 0, segments).Data
		clear(out)
		c.use(32 * int64(segments))
		sizes, texts := make([]int, segments), make([][]byte, segments)
		for i, id := range ids {
			c.tick(1)
			if id >= segments {
				return fmt.Errorf("segment %d of %d", id, segments)
			}
			// TensorFlow omits the separator after only empty strings.
			if id >= 0 && sizes[id] > 0 {
				c.chargeText(len(separator))
				sizes[id] += len(separator)
			}
			if id >= 0 {
				c.chargeText(len(a.Data[i]))
				sizes[id] += len(a.Data[i])
			}
		}
		for i, id := range ids {
			if id < 0 {
				continue
			}
			c.tick(len(a.Data[i]))
			if texts[id] == nil {
				texts[id] = make([]byte, 0, sizes[id])
			} else if len(texts[id]) > 0 {
				texts[id] = append(texts[id], separator...)
			}
			texts[id] = append(texts[id], a.Data[i]...)
		}
		for id, text := range texts {
			// Nothing else refers to these bytes.
			out[id] = unsafe.String(unsafe.SliceData(text), len(text))
		}
		return nil
	}, n.wantInts(1, 2)
}
