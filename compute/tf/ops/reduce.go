package ops

import (
	"cmp"
	"errors"
	"fmt"
	"slices"

	"github.com/stoker-ml/stoker/compute/tf/tensor"
)

// reducer reduces the elements of a group to one.
type reducer[T, R tensor.Element] func(group []T) R

// reduced returns the kernel of a reduction of input 0 along the axes of input 1.
func reduced[T, R tensor.Element](f reducer[T, R]) func(keep bool) Kernel {
	return func(keep bool) Kernel {
		return func(c *Call) error {
			a := arg[T](c, 0)
			g, err := group(c, a.Dims, c.ints(1))
			if err != nil {
				return err
			}
			out := newOutput[R](c, 0, g.shape(keep)...)
			c.use(shapeBytes(g.inner, tensor.BytesOf[T]()))
			values := make([]T, tensor.Count(g.inner))
			for i, start := range c.places(0, g.outer, g.outerSteps) {
				c.tick(len(values))
				for k, p := range g.within {
					values[k] = a.Data[start+p]
				}
				out.Data[i] = f(values)
			}
			return nil
		}
	}
}

// groups describes which elements are reduced to one: outer are the dimensions that remain, inner
// those that are reduced.
type groups struct {
	full, outer, outerSteps, inner []int
	within                         []int // offsets of a group's elements, from its first one
	gone                           []bool
}

// goneOf reports for each dimension whether it is among the axes.
func goneOf(dimensions int, axes []int) ([]bool, error) {
	gone := make([]bool, dimensions)
	for _, d := range axes {
		at, err := axis(d, dimensions)
		if err != nil {
			return nil, err
		}
		if gone[at] {
			return nil, fmt.Errorf("axis %d stands twice in %v", at, axes)
		}
		gone[at] = true
	}
	return gone, nil
}

func group(c *Call, dims, axes []int) (*groups, error) {
	gone, err := goneOf(len(dims), axes)
	if err != nil {
		return nil, err
	}
	g := &groups{full: dims, gone: gone}
	var innerSteps []int
	for i, step := range tensor.Strides(dims) {
		if g.gone[i] {
			g.inner, innerSteps = append(g.inner, dims[i]), append(innerSteps, step)
		} else {
			g.outer, g.outerSteps = append(g.outer, dims[i]), append(g.outerSteps, step)
		}
	}
	g.within = c.places(0, g.inner, innerSteps)
	return g, nil
}

// shape returns the shape of the result: the reduced dimensions are 1, or removed.
func (g *groups) shape(keep bool) []int {
	if !keep {
		return g.outer
	}
	dims := slices.Clone(g.full)
	for i := range dims {
		if g.gone[i] {
			dims[i] = 1
		}
	}
	return dims
}

// reduction returns an op that reduces along axes.
func reduction(kernels map[tensor.DType]func(keep bool) Kernel) Op {
	return Op{Build: func(n *Node) (Kernel, error) {
		if err := n.takes(2); err != nil {
			return nil, err
		}
		k, ok := kernels[n.In[0]]
		if !ok {
			return nil, fmt.Errorf("input 0 is %v: %w", n.In[0], errType)
		}
		n.Out = n.In[:1]
		return k(n.Boolean("keep_dims", false)), n.wantInts(1)
	}}
}

func reduceNumbers(f32 reducer[float32, float32], f64 reducer[float64, float64], i32 reducer[int32, int32], i64 reducer[int64, int64],
) map[tensor.DType]func(keep bool) Kernel {
	return map[tensor.DType]func(keep bool) Kernel{
		tensor.Float32: reduced(f32), tensor.Float64: reduced(f64), tensor.Int32: reduced(i32), tensor.Int64: reduced(i64),
	}
}

// folding applies f to the elements of a group one by one, from start on, and computes in the type
// itself.
func folding[T number](start T, f func(a, b T) T) reducer[T, T] {
	return func(group []T) T {
		folded := start
		for _, v := range group {
			folded = f(folded, v)
		}
		return folded
	}
}

func plus[T number](a, b T) T  { return a + b }
func times[T number](a, b T) T { return a * b }

// greatest and least return NaN if either is NaN, as Go's max and min do.
func greatest[T number](a, b T) T { return max(a, b) }
func least[T number](a, b T) T    { return min(a, b) }

// mean of no floats is NaN.
func mean[T floating](group []T) T { return folding(0, plus[T])(group) / T(len(group)) }

func meanInt[T integer](group []T) T { return folding(0, plus[T])(group) / T(max(1, len(group))) }

func anyOf(group []bool) bool { return slices.Contains(group, true) }
func allOf(group []bool) bool { return !slices.Contains(group, false) }

// extreme returns the op for the index of the largest or smallest element along an axis, the first
// of several. It begins with the smallest or largest finite number at index 0, so that it ignores
// NaN, and returns 0 if there is no better number.
func extreme(start32 float32, better32 func(a, b float32) bool, start64 float64, better64 func(a, b float64) bool,
	startInt int64, betterInt func(a, b int64) bool,
) Op {
	return Op{Build: func(n *Node) (Kernel, error) {
		if err := n.takes(2); err != nil {
			return nil, err
		}
		out := n.dtype("output_type", tensor.Int64)
		n.Out = []tensor.DType{out}
		kernels := byType{
			tensor.Float32: placed(start32, better32, out), tensor.Float64: placed(start64, better64, out),
			tensor.Int64: placed(startInt, betterInt, out),
		}
		k, ok := kernels[n.In[0]]
		if !ok || out != tensor.Int32 && out != tensor.Int64 {
			return nil, fmt.Errorf("input 0 is %v, the output %v: %w", n.In[0], out, errType)
		}
		return k, n.wantInts(1)
	}}
}

func placed[T number](start T, better func(a, b T) bool, out tensor.DType) Kernel {
	return func(c *Call) error {
		a, axes := arg[T](c, 0), c.ints(1)
		if len(axes) != 1 {
			return errors.New("wants one axis")
		}
		g, err := group(c, a.Dims, axes)
		if err != nil {
			return err
		}
		if len(g.within) == 0 {
			return fmt.Errorf("dimension %d of %v is empty", axes[0], a.Dims)
		}
		var list []int
		c.use(shapeBytes(g.outer, 16)) // list grows
		for _, first := range c.places(0, g.outer, g.outerSteps) {
			c.tick(len(g.within))
			best, place := start, 0
			for k, p := range g.within {
				if v := a.Data[first+p]; better(v, best) {
					best, place = v, k
				}
			}
			list = append(list, place)
		}
		putInts(c, out, g.outer, list)
		return nil
	}
}

func isMore[T cmp.Ordered](a, b T) bool { return a > b }
func isLess[T cmp.Ordered](a, b T) bool { return a < b }

// cumulated builds Cumsum and Cumprod: each element becomes the sum or product of those up to it
// along an axis.
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
