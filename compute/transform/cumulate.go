package transform

import "fmt"

// cumulated is Cumsum and Cumprod: each element becomes the sum or product of those up to it along an axis.
func cumulated(kernels func(exclusive, reverse bool) byType) op {
	return op{build: func(n *node) (kernel, error) {
		if err := n.takes(2); err != nil {
			return nil, err
		}
		k, ok := kernels(n.boolean("exclusive", false), n.boolean("reverse", false))[n.in[0]]
		if !ok {
			return nil, fmt.Errorf("input 0 is %v: %w", n.in[0], errType)
		}
		n.out = n.in[:1]
		return k, n.wantInts(1)
	}}
}

func cumulateSum(exclusive, reverse bool) byType {
	return byType{
		float32Type: cumulate(0, plus[float32], exclusive, reverse), float64Type: cumulate(0, plus[float64], exclusive, reverse),
		int32Type: cumulate(0, plus[int32], exclusive, reverse), int64Type: cumulate(0, plus[int64], exclusive, reverse),
	}
}

func cumulateProduct(exclusive, reverse bool) byType {
	return byType{
		float32Type: cumulate(1, times[float32], exclusive, reverse), float64Type: cumulate(1, times[float64], exclusive, reverse),
		int32Type: cumulate(1, times[int32], exclusive, reverse), int64Type: cumulate(1, times[int64], exclusive, reverse),
	}
}

func cumulate[T number](start T, f func(a, b T) T, exclusive, reverse bool) kernel {
	return func(c *call) error {
		a := arg[T](c, 0)
		g, err := group(a.dims, integers(c.in[1]))
		if err != nil {
			return err
		}
		out := room[T](c, 0, a.dims...)
		for _, first := range places(0, g.outer, g.outerSteps) {
			sum := start
			for k := range g.within {
				at := first + g.within[k]
				if reverse {
					at = first + g.within[len(g.within)-1-k]
				}
				before := sum
				sum = f(sum, a.data[at])
				out.data[at] = sum
				if exclusive {
					out.data[at] = before
				}
			}
		}
		return nil
	}
}
