package transform

import (
	"cmp"
	"errors"
	"fmt"
	"math"
	"slices"
)

// reducer folds the elements of a group into one.
type reducer[T, R element] func(group []T) R

// reduced is the kernel of a reduction of input 0 along the axes of input 1.
func reduced[T, R element](f reducer[T, R]) func(keep bool) kernel {
	return func(keep bool) kernel {
		return func(c *call) error {
			a := arg[T](c, 0)
			g, err := group(a.dims, integers(c.in[1]))
			if err != nil {
				return err
			}
			out := room[R](c, 0, g.shape(keep)...)
			values := make([]T, count(g.inner))
			for i, start := range places(0, g.outer, g.outerSteps) {
				for k, p := range g.within {
					values[k] = a.data[start+p]
				}
				out.data[i] = f(values)
			}
			return nil
		}
	}
}

// groups says which elements are reduced to one: outer are the dimensions that stay, inner those that go.
type groups struct {
	full, outer, outerSteps, inner []int
	within                         []int // places of a group's elements, from that of its first
	gone                           []bool
}

func group(dims, axes []int) (*groups, error) {
	g := &groups{full: dims, gone: make([]bool, len(dims))}
	for _, d := range axes {
		at, err := axis(d, len(dims))
		if err != nil {
			return nil, err
		}
		if g.gone[at] {
			return nil, fmt.Errorf("axis %d stands twice in %v", at, axes)
		}
		g.gone[at] = true
	}
	var innerSteps []int
	for i, step := range rowMajor(dims) {
		if g.gone[i] {
			g.inner, innerSteps = append(g.inner, dims[i]), append(innerSteps, step)
		} else {
			g.outer, g.outerSteps = append(g.outer, dims[i]), append(g.outerSteps, step)
		}
	}
	g.within = places(0, g.inner, innerSteps)
	return g, nil
}

// shape is that of the outcome: the dimensions that go are 1, or not there.
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

// reduction is an op that reduces along axes.
func reduction(kernels map[dtype]func(keep bool) kernel) op {
	return op{build: func(n *node) (kernel, error) {
		if err := n.takes(2); err != nil {
			return nil, err
		}
		k, ok := kernels[n.in[0]]
		if !ok {
			return nil, fmt.Errorf("input 0 is %v: %w", n.in[0], errType)
		}
		n.out = n.in[:1]
		return k(n.boolean("keep_dims", false)), n.wantInts(1)
	}}
}

func reduceNumbers(f32 reducer[float32, float32], f64 reducer[float64, float64], i32 reducer[int32, int32], i64 reducer[int64, int64],
) map[dtype]func(keep bool) kernel {
	return map[dtype]func(keep bool) kernel{
		float32Type: reduced(f32), float64Type: reduced(f64), int32Type: reduced(i32), int64Type: reduced(i64),
	}
}

// total adds up in the type itself.
func total[T number](group []T) T {
	sum := T(0)
	for _, v := range group {
		sum += v
	}
	return sum
}

func product[T number](group []T) T {
	p := T(1)
	for _, v := range group {
		p *= v
	}
	return p
}

// meanOf is the sum by the number: NaN for none.
func meanOf[T number](group []T) T {
	if len(group) == 0 && !isFloat[T]() {
		return 0
	}
	return total(group) / T(len(group))
}

// highest of none is the lowest there is.
func highest[T number](group []T) T {
	m := lowestOf[T]()
	for _, v := range group {
		m = max(m, v)
	}
	return m
}

func lowest[T number](group []T) T {
	m := highestOf[T]()
	for _, v := range group {
		m = min(m, v)
	}
	return m
}

func isFloat[T number]() bool { return T(1)/T(2) != 0 }

func lowestOf[T number]() T {
	var v any
	switch any(T(0)).(type) {
	case float32:
		v = float32(math.Inf(-1))
	case float64:
		v = math.Inf(-1)
	case int32:
		v = int32(math.MinInt32)
	case int64:
		v = int64(math.MinInt64)
	default:
		v = T(0)
	}
	return v.(T)
}

func highestOf[T number]() T {
	var v any
	switch any(T(0)).(type) {
	case float32:
		v = float32(math.Inf(1))
	case float64:
		v = math.Inf(1)
	case int32:
		v = int32(math.MaxInt32)
	case int64:
		v = int64(math.MaxInt64)
	default:
		v = T(0)
	}
	return v.(T)
}

func anyOf(group []bool) bool { return slices.Contains(group, true) }
func allOf(group []bool) bool { return !slices.Contains(group, false) }

// extreme is the op that gives the place of the largest or smallest element along an axis, the first of several. It begins with
// the least or most finite number at place 0, so that NaN is passed over, and 0 the place of nothing better.
func extreme(start32 float32, better32 func(a, b float32) bool, start64 float64, better64 func(a, b float64) bool,
	startInt int64, betterInt func(a, b int64) bool,
) op {
	return op{build: func(n *node) (kernel, error) {
		if err := n.takes(2); err != nil {
			return nil, err
		}
		out := n.dtype("output_type", int64Type)
		n.out = []dtype{out}
		kernels := byType{
			float32Type: placed(start32, better32, out), float64Type: placed(start64, better64, out),
			int64Type: placed(startInt, betterInt, out),
		}
		k, ok := kernels[n.in[0]]
		if !ok || out != int32Type && out != int64Type {
			return nil, fmt.Errorf("input 0 is %v, the output %v: %w", n.in[0], out, errType)
		}
		return k, n.wantInts(1)
	}}
}

func placed[T number](start T, better func(a, b T) bool, out dtype) kernel {
	return func(c *call) error {
		a, axes := arg[T](c, 0), integers(c.in[1])
		if len(axes) != 1 {
			return errors.New("wants one axis")
		}
		g, err := group(a.dims, axes)
		if err != nil {
			return err
		}
		if len(g.within) == 0 {
			return fmt.Errorf("dimension %d of %v is empty", axes[0], a.dims)
		}
		var list []int
		for _, first := range places(0, g.outer, g.outerSteps) {
			best, place := start, 0
			for k, p := range g.within {
				if v := a.data[first+p]; better(v, best) {
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
