package ops

import (
	"fmt"

	"github.com/stoker-ml/stoker/compute/tf/tensor"
)

// cumulated is Cumsum and Cumprod: each element becomes the sum or product of those up to it along
// an axis.
func cumulated(kernels func(exclusive, reverse bool) byType) Op {
	return Op{Build: func(n *Node) (Kernel, error) {
		if err := n.takes(2); err != nil {
			return nil, err
		}
		k, ok := kernels(n.Boolean("exclusive", false), n.Boolean("reverse", false))[n.In[0]]
		if !ok {
			return nil, fmt.Errorf("input 0 is %v: %w", n.In[0], errType)
		}
		n.Out = n.In[:1]
		return k, n.wantInts(1)
	}}
}

func cumulateSum(exclusive, reverse bool) byType {
	return byType{
		tensor.Float32: cumulate(0, plus[float32], exclusive, reverse), tensor.Float64: cumulate(0, plus[float64], exclusive, reverse),
		tensor.Int32: cumulate(0, plus[int32], exclusive, reverse), tensor.Int64: cumulate(0, plus[int64], exclusive, reverse),
	}
}

func cumulateProduct(exclusive, reverse bool) byType {
	return byType{
		tensor.Float32: cumulate(1, times[float32], exclusive, reverse), tensor.Float64: cumulate(1, times[float64], exclusive, reverse),
		tensor.Int32: cumulate(1, times[int32], exclusive, reverse), tensor.Int64: cumulate(1, times[int64], exclusive, reverse),
	}
}

func cumulate[T number](start T, f func(a, b T) T, exclusive, reverse bool) Kernel {
	return func(c *Call) error {
		a := arg[T](c, 0)
		g, err := group(c, a.Dims, c.ints(1))
		if err != nil {
			return err
		}
		out := newOutput[T](c, 0, a.Dims...)
		for _, first := range c.places(0, g.outer, g.outerSteps) {
			c.tick(len(g.within))
			sum := start
			for k := range g.within {
				at := first + g.within[k]
				if reverse {
					at = first + g.within[len(g.within)-1-k]
				}
				before := sum
				sum = f(sum, a.Data[at])
				out.Data[at] = sum
				if exclusive {
					out.Data[at] = before
				}
			}
		}
		return nil
	}
}
