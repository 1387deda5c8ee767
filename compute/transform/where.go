package transform

import "fmt"

// buildWhere gives the indices of all elements that are true, or not 0.
func buildWhere(n *node) (kernel, error) {
	n.out = []dtype{int64Type}
	if err := n.want(0); err != nil {
		return nil, err
	}
	kernels := byType{
		boolType:    whereKernel(func(v bool) bool { return v }),
		float32Type: whereKernel(nonzero[float32]), float64Type: whereKernel(nonzero[float64]),
		int32Type: whereKernel(nonzero[int32]), int64Type: whereKernel(nonzero[int64]),
	}
	k, ok := kernels[n.in[0]]
	if !ok {
		return nil, fmt.Errorf("input 0 is %v: %w", n.in[0], errType)
	}
	return k, nil
}

func whereKernel[T element](holds func(T) bool) kernel {
	return func(c *call) error {
		in := arg[T](c, 0)
		var found []int
		for i, v := range in.data {
			if holds(v) {
				found = append(found, i)
			}
		}
		rank := len(in.dims)
		out := room[int64](c, 0, len(found), rank).data
		for i, at := range found {
			for d := rank - 1; d >= 0; d-- {
				out[i*rank+d] = int64(at % in.dims[d])
				at /= in.dims[d]
			}
		}
		return nil
	}
}
