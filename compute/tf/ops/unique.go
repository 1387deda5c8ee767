package ops

import (
	"fmt"

	"github.com/stoker-ml/stoker/compute/tf/tensor"
)

// uniqueOp builds Unique and UniqueWithCounts. A NaN differs from every other one.
func uniqueOp(counts bool) Op {
	outputs := []string{"y", "idx"}
	if counts {
		outputs = append(outputs, "count")
	}
	return Op{Outputs: outputs, Build: func(n *Node) (Kernel, error) {
		out := n.dtype("out_idx", tensor.Int32)
		if err := n.want(0); err != nil {
			return nil, err
		}
		n.Out = []tensor.DType{n.In[0], out, out}[:len(outputs)]
		switch n.In[0] {
		case tensor.Float32:
			return unique[float32](out, counts)
		case tensor.Float64:
			return unique[float64](out, counts)
		case tensor.Int32:
			return unique[int32](out, counts)
		case tensor.Int64:
			return unique[int64](out, counts)
		case tensor.String:
			return unique[string](out, counts)
		}
		return nil, fmt.Errorf("input 0 is %v: %w", n.In[0], errType)
	}}
}

func unique[T tensor.Element](out tensor.DType, counts bool) (Kernel, error) {
	switch out {
	case tensor.Int32:
		return uniqueInto[T, int32](counts), nil
	case tensor.Int64:
		return uniqueInto[T, int64](counts), nil
	}
	return nil, fmt.Errorf("out_idx is %v: %w", out, errType)
}

// uniqueInto lists the elements in the order of their first occurrences, and sets for each input
// the index of its element.
func uniqueInto[T tensor.Element, I int32 | int64](counts bool) Kernel {
	return func(c *Call) error {
		in := arg[T](c, 0)
		if len(in.Dims) != 1 {
			return fmt.Errorf("shape %v, wants a vector", in.Dims)
		}
		c.use(int64(len(in.Data)) * (64 + 2*tensor.BytesOf[T]())) // all that follow
		seen := make(map[T]I)
		var list []T
		var times []I
		which := newOutput[I](c, 1, len(in.Data)).Data
		for i, v := range in.Data {
			c.tick(8)
			place, ok := seen[v]
			if !ok {
				place = I(len(list))
				seen[v] = place
				list, times = append(list, v), append(times, 0)
			}
			which[i] = place
			times[place]++
		}
		copy(newOutput[T](c, 0, len(list)).Data, list)
		if counts {
			copy(newOutput[I](c, 2, len(times)).Data, times)
		}
		return nil
	}
}
