package transform

import "fmt"

// uniqueOp is Unique and UniqueWithCounts. A NaN is like no other.
func uniqueOp(counts bool) op {
	outputs := []string{"y", "idx"}
	if counts {
		outputs = append(outputs, "count")
	}
	return op{outputs: outputs, build: func(n *node) (kernel, error) {
		out := n.dtype("out_idx", int32Type)
		if err := n.want(0); err != nil {
			return nil, err
		}
		n.out = []dtype{n.in[0], out, out}[:len(outputs)]
		switch n.in[0] {
		case float32Type:
			return unique[float32](out, counts)
		case float64Type:
			return unique[float64](out, counts)
		case int32Type:
			return unique[int32](out, counts)
		case int64Type:
			return unique[int64](out, counts)
		case stringType:
			return unique[string](out, counts)
		}
		return nil, fmt.Errorf("input 0 is %v: %w", n.in[0], errType)
	}}
}

func unique[T element](out dtype, counts bool) (kernel, error) {
	switch out {
	case int32Type:
		return uniqueInto[T, int32](counts), nil
	case int64Type:
		return uniqueInto[T, int64](counts), nil
	}
	return nil, fmt.Errorf("out_idx is %v: %w", out, errType)
}

// uniqueInto lists the elements in the order in which they come first, and says for each input which it is.
func uniqueInto[T element, I int32 | int64](counts bool) kernel {
	return func(c *call) error {
		in := arg[T](c, 0)
		if len(in.dims) != 1 {
			return fmt.Errorf("shape %v, wants a vector", in.dims)
		}
		seen := make(map[T]I, len(in.data))
		var list []T
		var times []I
		which := room[I](c, 1, len(in.data)).data
		for i, v := range in.data {
			place, ok := seen[v]
			if !ok {
				place = I(len(list))
				seen[v] = place
				list, times = append(list, v), append(times, 0)
			}
			which[i] = place
			times[place]++
		}
		copy(room[T](c, 0, len(list)).data, list)
		if counts {
			copy(room[I](c, 2, len(times)).data, times)
		}
		return nil
	}
}
