package transform

import (
	"cmp"
	"errors"
	"fmt"
	"maps"
	"slices"
)

// buildSetOperation takes the last dimension of two tensors as sets, and gives what the operation leaves as a sparse tensor.
func buildSetOperation(n *node) (kernel, error) {
	operation := n.text("set_operation", "")
	keep, ok := setOperations[operation]
	if !ok {
		return nil, fmt.Errorf("set_operation %q isn't known", operation)
	}
	if err := errors.Join(n.takes(2), n.wantSame()); err != nil {
		return nil, err
	}
	n.out = []dtype{int64Type, n.in[0], int64Type}
	kernels := byType{int32Type: setKernel[int32](keep), int64Type: setKernel[int64](keep), stringType: setKernel[string](keep)}
	k, ok := kernels[n.in[0]]
	if !ok {
		return nil, fmt.Errorf("input 0 is %v: %w", n.in[0], errType)
	}
	return k, nil
}

// setOperations say of an element that is in a, in b, or in both, whether it stays.
var setOperations = map[string]func(inA, inB bool) bool{
	"a-b":          func(inA, inB bool) bool { return inA && !inB },
	"b-a":          func(inA, inB bool) bool { return inB && !inA },
	"intersection": func(inA, inB bool) bool { return inA && inB },
	"union":        func(inA, inB bool) bool { return inA || inB },
}

type setElement interface{ int32 | int64 | string }

func setKernel[T setElement](keep func(inA, inB bool) bool) kernel {
	return func(c *call) error {
		a, b := arg[T](c, 0), arg[T](c, 1)
		last := len(a.dims) - 1
		if last < 0 || len(b.dims) != len(a.dims) || !slices.Equal(a.dims[:last], b.dims[:last]) {
			return fmt.Errorf("sets of shapes %v and %v", a.dims, b.dims)
		}
		var indices, values = []int64{}, []T{}
		widest, number := 0, count(a.dims[:last])
		for row := range number {
			left := setOf(a.data[row*a.dims[last] : (row+1)*a.dims[last]])
			right := setOf(b.data[row*b.dims[last] : (row+1)*b.dims[last]])
			kept := keptOf(left, right, keep)
			for i := range kept {
				for d, step := range rowMajor(a.dims[:last]) {
					indices = append(indices, int64(row/step%a.dims[d]))
				}
				indices = append(indices, int64(i))
			}
			values, widest = append(values, kept...), max(widest, len(kept))
		}
		copy(room[int64](c, 0, len(values), last+1).data, indices)
		copy(room[T](c, 1, len(values)).data, values)
		copyInts(room[int64](c, 2, last+1).data, append(slices.Clone(a.dims[:last]), widest))
		return nil
	}
}

func setOf[T comparable](list []T) map[T]bool {
	set := map[T]bool{}
	for _, v := range list {
		set[v] = true
	}
	return set
}

// keptOf is sorted.
func keptOf[T cmp.Ordered](a, b map[T]bool, keep func(inA, inB bool) bool) []T {
	all := maps.Clone(a)
	maps.Copy(all, b)
	var kept []T
	for v := range all {
		if keep(a[v], b[v]) {
			kept = append(kept, v)
		}
	}
	slices.Sort(kept)
	return kept
}

// buildBincount counts how often each number up to a size occurs, in all or in each row; or with weights, adds those.
func buildBincount(n *node) (kernel, error) {
	if err := errors.Join(n.takes(3), n.wantInts(0, 1)); err != nil {
		return nil, err
	}
	binary := n.boolean("binary_output", false)
	n.out = n.in[2:3]
	kernels := byType{
		int32Type: bincount[int32](binary), int64Type: bincount[int64](binary),
		float32Type: bincount[float32](binary), float64Type: bincount[float64](binary),
	}
	k, ok := kernels[n.in[2]]
	if !ok {
		return nil, fmt.Errorf("input 2 is %v: %w", n.in[2], errType)
	}
	return k, nil
}

func bincount[T number](binary bool) kernel {
	return func(c *call) error {
		numbers, shape, weights := integers(c.in[0]), c.tensor(0).shape(), arg[T](c, 2).data
		size, err := integer1(c.in[1])
		if err != nil {
			return fmt.Errorf("size %w", err)
		}
		if len(shape) < 1 || len(shape) > 2 || len(weights) > 0 && len(weights) != len(numbers) {
			return fmt.Errorf("numbers of shape %v with %d weights", shape, len(weights))
		}
		dims, across := append(slices.Clone(shape[:len(shape)-1]), size), shape[len(shape)-1]
		if err := c.allow(dims); err != nil {
			return err
		}
		out := room[T](c, 0, dims...)
		clear(out.data)
		for i, v := range numbers {
			if v < 0 {
				return fmt.Errorf("number %d is negative", v)
			}
			if v >= size {
				continue
			}
			at := &out.data[i/across*size+v]
			switch {
			case binary:
				*at = 1
			case len(weights) > 0:
				*at += weights[i]
			default:
				*at++
			}
		}
		return nil
	}
}
