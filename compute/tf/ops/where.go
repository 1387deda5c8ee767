package ops

import (
	"fmt"

	"github.com/stoker-ml/stoker/compute/tf/tensor"
)

// buildWhere gives the indices of all elements that are true, or not 0.
func buildWhere(n *Node) (Kernel, error) {
	n.Out = []tensor.DType{tensor.Int64}
	if err := n.want(0); err != nil {
		return nil, err
	}
	kernels := byType{
		tensor.Bool:    whereKernel(func(v bool) bool { return v }),
		tensor.Float32: whereKernel(nonzero[float32]), tensor.Float64: whereKernel(nonzero[float64]),
		tensor.Int32: whereKernel(nonzero[int32]), tensor.Int64: whereKernel(nonzero[int64]),
	}
	k, ok := kernels[n.In[0]]
	if !ok {
		return nil, fmt.Errorf("input 0 is %v: %w", n.In[0], errType)
	}
	return k, nil
}

func whereKernel[T tensor.Element](holds func(T) bool) Kernel {
	return func(c *Call) error {
		in := arg[T](c, 0)
		number := 0
		for _, v := range in.Data {
			if holds(v) {
				number++
			}
		}
		c.tick(len(in.Data))
		c.use(8 * int64(number))
		found := make([]int, 0, number)
		for i, v := range in.Data {
			if holds(v) {
				found = append(found, i)
			}
		}
		rank := len(in.Dims)
		out := newOutput[int64](c, 0, len(found), rank).Data
		for i, at := range found {
			c.tick(rank)
			for d := rank - 1; d >= 0; d-- {
				out[i*rank+d] = int64(at % in.Dims[d])
				at /= in.Dims[d]
			}
		}
		return nil
	}
}
