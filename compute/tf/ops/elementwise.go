package ops

import (
	"cmp"
	"errors"
	"fmt"

	"github.com/stoker-ml/stoker/compute/tf/tensor"
)

// loop computes out[i] from a[i] and b[i]. The masks are for their indices: 0 if one element is
// used for all, -1 otherwise.
type loop[T, R tensor.Element] func(out []R, a, b []T, ma, mb int)

// pairwise returns the kernel of an op on two tensors that broadcast.
func pairwise[T, R tensor.Element](f loop[T, R]) Kernel {
	return func(c *Call) error {
		a, b := arg[T](c, 0), arg[T](c, 1)
		dims, err := c.broadcast(a.Dims, b.Dims)
		if err != nil {
			return err
		}
		out := newOutput[R](c, 0, dims...).Data
		x, mx := spread(c, a, dims)
		y, my := spread(c, b, dims)
		for start := 0; start < len(out); {
			end := chunk(c, x, mx, start, len(out))
			f(out[start:end], part(x, mx, start, end), part(y, my, start, end), mx, my)
			start = end
		}
		return nil
	}
}

// part returns the elements from start to end, or the one that is used for all.
func part[T tensor.Element](data []T, mask, start, end int) []T {
	if mask == 0 {
		return data
	}
	return data[start:end]
}

// each returns the kernel of an op on one tensor.
func each[T, R tensor.Element](f func(out []R, in []T)) Kernel {
	return func(c *Call) error {
		a := arg[T](c, 0)
		out := newOutput[R](c, 0, a.Dims...).Data
		for start := 0; start < len(out); {
			end := chunk(c, a.Data, -1, start, len(out))
			f(out[start:end], a.Data[start:end])
			start = end
		}
		return nil
	}
}

// byType are the kernels of an op for the supported types.
type byType map[tensor.DType]Kernel

// sameOut returns an op whose output has the type of its inputs.
func (k byType) sameOut(inputs int) Op {
	return Op{Build: func(n *Node) (Kernel, error) { return k.pick(n, inputs, 0) }}
}

// boolOut returns an op whose output is true or false.
func (k byType) boolOut(inputs int) Op {
	return Op{Build: func(n *Node) (Kernel, error) { return k.pick(n, inputs, tensor.Bool) }}
}

func (k byType) pick(n *Node, inputs int, out tensor.DType) (Kernel, error) {
	if err := n.takes(inputs); err != nil {
		return nil, err
	}
	if err := n.wantSame(); err != nil {
		return nil, err
	}
	if out == 0 {
		out = n.In[0]
	}
	n.Out = []tensor.DType{out}
	if kernel, ok := k[n.In[0]]; ok {
		return kernel, nil
	}
	return nil, fmt.Errorf("input 0 is %v: %w", n.In[0], errType)
}

// numbers returns the kernels of an op on two numbers of the types that tensors are computed in.
func numbers(f32 loop[float32, float32], f64 loop[float64, float64], i32 loop[int32, int32], i64 loop[int64, int64]) byType {
	return byType{tensor.Float32: pairwise(f32), tensor.Float64: pairwise(f64), tensor.Int32: pairwise(i32), tensor.Int64: pairwise(i64)}
}

// floats returns the kernels of an op on two floating point numbers.
func floats(f32 loop[float32, float32], f64 loop[float64, float64]) byType {
	return byType{tensor.Float32: pairwise(f32), tensor.Float64: pairwise(f64)}
}

func add[T number](out, a, b []T, ma, mb int) {
	for i := range out {
		out[i] = a[i&ma] + b[i&mb]
	}
}

func sub[T number](out, a, b []T, ma, mb int) {
	for i := range out {
		out[i] = a[i&ma] - b[i&mb]
	}
}

func mul[T number](out, a, b []T, ma, mb int) {
	for i := range out {
		out[i] = a[i&ma] * b[i&mb]
	}
}

func div[T floating](out, a, b []T, ma, mb int) {
	for i := range out {
		out[i] = a[i&ma] / b[i&mb]
	}
}

// larger returns NaN if either is NaN, as Go's max does.
func larger[T number](out, a, b []T, ma, mb int) {
	for i := range out {
		out[i] = max(a[i&ma], b[i&mb])
	}
}

func smaller[T number](out, a, b []T, ma, mb int) {
	for i := range out {
		out[i] = min(a[i&ma], b[i&mb])
	}
}

func squaredDifference[T number](out, a, b []T, ma, mb int) {
	for i := range out {
		d := a[i&ma] - b[i&mb]
		out[i] = d * d
	}
}

// of makes a loop of a function, for ops that are rare or slow anyway.
func of[T, R tensor.Element](f func(a, b T) R) loop[T, R] {
	return func(out []R, a, b []T, ma, mb int) {
		for i := range out {
			out[i] = f(a[i&ma], b[i&mb])
		}
	}
}

func divideNoNaN[T floating](a, b T) T {
	if b == 0 {
		return 0
	}
	return a / b
}

func mulNoNaN[T floating](a, b T) T {
	if b == 0 {
		return 0
	}
	return a * b
}

var errDivision = errors.New("integer division by zero")

// divisor returns an op on integers that refuses a divisor of 0.
func divisor[T integer](f func(a, b T) T) Kernel {
	inner := pairwise(of(f))
	return func(c *Call) error {
		for _, v := range arg[T](c, 1).Data {
			if v == 0 {
				return errDivision
			}
		}
		return inner(c)
	}
}

func floorDivInt[T int32 | int64](a, b T) T {
	q := a / b
	if a%b != 0 && (a < 0) != (b < 0) {
		q--
	}
	return q
}

// floorModInt has the sign of the divisor, as in Python.
func floorModInt[T int32 | int64](a, b T) T {
	r := a % b
	if r != 0 && (r < 0) != (b < 0) {
		r += b
	}
	return r
}

func truncateDiv[T integer](a, b T) T { return a / b }
func truncateMod[T integer](a, b T) T { return a % b }

// buildAddN adds up all inputs, from the first on.
func buildAddN(n *Node) (Kernel, error) {
	kernels := numbers(add, add, add, add)
	if err := n.wantSame(); err != nil {
		return nil, err
	}
	plus, ok := kernels[n.In[0]]
	if !ok {
		return nil, fmt.Errorf("input 0 is %v: %w", n.In[0], errType)
	}
	n.Out = n.In[:1]
	return func(c *Call) error {
		sum := c.In[0]
		for _, v := range c.In[1:] {
			step := c.inner([]Value{sum, v}, []Value{nil})
			if err := Do(plus, step); err != nil {
				return err
			}
			if sum != c.In[0] {
				c.Budget.Release(SizeOf(sum))
			}
			sum = step.Out[0]
		}
		c.Out[0] = sum
		return nil
	}, nil
}

// withInts adds kernels for integers.
func withInts(k byType, i32, i64 Kernel) byType {
	k[tensor.Int32], k[tensor.Int64] = i32, i64
	return k
}

// ordered returns the kernels of a comparison of numbers.
func ordered(f32 loop[float32, bool], f64 loop[float64, bool], i32 loop[int32, bool], i64 loop[int64, bool]) byType {
	return byType{tensor.Float32: pairwise(f32), tensor.Float64: pairwise(f64), tensor.Int32: pairwise(i32), tensor.Int64: pairwise(i64)}
}

// equality adds those of strings and of booleans.
func equality(k byType, s loop[string, bool], b loop[bool, bool]) byType {
	k[tensor.String], k[tensor.Bool] = pairwise(s), pairwise(b)
	return k
}

func equal[T tensor.Element](out []bool, a, b []T, ma, mb int) {
	for i := range out {
		out[i] = a[i&ma] == b[i&mb]
	}
}

func notEqual[T tensor.Element](out []bool, a, b []T, ma, mb int) {
	for i := range out {
		out[i] = a[i&ma] != b[i&mb]
	}
}

func less[T cmp.Ordered](out []bool, a, b []T, ma, mb int) {
	for i := range out {
		out[i] = a[i&ma] < b[i&mb]
	}
}

func lessEqual[T cmp.Ordered](out []bool, a, b []T, ma, mb int) {
	for i := range out {
		out[i] = a[i&ma] <= b[i&mb]
	}
}

func greater[T cmp.Ordered](out []bool, a, b []T, ma, mb int) {
	for i := range out {
		out[i] = a[i&ma] > b[i&mb]
	}
}

func greaterEqual[T cmp.Ordered](out []bool, a, b []T, ma, mb int) {
	for i := range out {
		out[i] = a[i&ma] >= b[i&mb]
	}
}

func both(a, b bool) bool   { return a && b }
func either(a, b bool) bool { return a || b }

func not(out, in []bool) {
	for i, v := range in {
		out[i] = !v
	}
}
