package ops

import (
	"cmp"

	"github.com/stoker-ml/stoker/compute/tf/tensor"
)

// ordered are the kernels of a comparison of numbers.
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
