package ops

import (
	"cmp"
	"errors"
	"fmt"
	"maps"
	"slices"

	"github.com/stoker-ml/stoker/compute/tf/tensor"
)

// buildSetOperation takes the last dimension of two tensors as sets, and returns the result of the
// operation as a sparse tensor.
func buildSetOperation(n *Node) (Kernel, error) {
	operation := n.Text("set_operation", "")
	keep, ok := setOperations[operation]
	if !ok {
		return nil, fmt.Errorf("set_operation %q isn't known", operation)
	}
	if err := errors.Join(n.takes(2), n.wantSame()); err != nil {
		return nil, err
	}
	n.Out = []tensor.DType{tensor.Int64, n.In[0], tensor.Int64}
	kernels := byType{tensor.Int32: setKernel[int32](keep), tensor.Int64: setKernel[int64](keep), tensor.String: setKernel[string](keep)}
	k, ok := kernels[n.In[0]]
	if !ok {
		return nil, fmt.Errorf("input 0 is %v: %w", n.In[0], errType)
	}
	return k, nil
}

// setOperations determine for an element that is in a, in b, or in both, whether it is in the
// result.
var setOperations = map[string]func(inA, inB bool) bool{
	"a-b":          func(inA, inB bool) bool { return inA && !inB },
	"b-a":          func(inA, inB bool) bool { return inB && !inA },
	"intersection": func(inA, inB bool) bool { return inA && inB },
	"union":        func(inA, inB bool) bool { return inA || inB },
}

type setElement interface{ int32 | int64 | string }

func setKernel[T setElement](keep func(inA, inB bool) bool) Kernel {
	return func(c *Call) error {
		a, b := arg[T](c, 0), arg[T](c, 1)
		last := len(a.Dims) - 1
		if last < 0 || len(b.Dims) != len(a.Dims) || !slices.Equal(a.Dims[:last], b.Dims[:last]) {
			return fmt.Errorf("sets of shapes %v and %v", a.Dims, b.Dims)
		}
		var indices, values = []int64{}, []T{}
		widest, number := 0, tensor.Count(a.Dims[:last])
		for row := range number {
			sets := 96 * int64(a.Dims[last]+b.Dims[last]) // both, and both together
			c.use(sets)
			c.tick(a.Dims[last] + b.Dims[last])
			left := setOf(a.Data[row*a.Dims[last] : (row+1)*a.Dims[last]])
			right := setOf(b.Data[row*b.Dims[last] : (row+1)*b.Dims[last]])
			kept := keptOf(left, right, keep)
			c.drop(sets)
			c.use(2 * int64(len(kept)) * (8*int64(last+1) + tensor.BytesOf[T]()))
			for i := range kept {
				c.tick(last)
				for d, step := range tensor.Strides(a.Dims[:last]) {
					indices = append(indices, int64(row/step%a.Dims[d]))
				}
				indices = append(indices, int64(i))
			}
			values, widest = append(values, kept...), max(widest, len(kept))
		}
		copy(newOutput[int64](c, 0, len(values), last+1).Data, indices)
		copy(newOutput[T](c, 1, len(values)).Data, values)
		copyInts(newOutput[int64](c, 2, last+1).Data, append(slices.Clone(a.Dims[:last]), widest))
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

// buildBincount counts how often each number up to a size occurs, in all or in each row; or with
// weights, adds those.
func buildBincount(n *Node) (Kernel, error) {
	if err := errors.Join(n.takes(3), n.wantInts(0, 1)); err != nil {
		return nil, err
	}
	binary := n.Boolean("binary_output", false)
	n.Out = n.In[2:3]
	kernels := byType{
		tensor.Int32: bincount[int32](binary), tensor.Int64: bincount[int64](binary),
		tensor.Float32: bincount[float32](binary), tensor.Float64: bincount[float64](binary),
	}
	k, ok := kernels[n.In[2]]
	if !ok {
		return nil, fmt.Errorf("input 2 is %v: %w", n.In[2], errType)
	}
	return k, nil
}

func bincount[T number](binary bool) Kernel {
	return func(c *Call) error {
		numbers, shape, weights := c.ints(0), c.tensor(0).Shape(), arg[T](c, 2).Data
		size, err := integer1(c.In[1])
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
		out := newOutput[T](c, 0, dims...)
		clear(out.Data)
		for i, v := range numbers {
			if v < 0 {
				return fmt.Errorf("number %d is negative", v)
			}
			if v >= size {
				continue
			}
			at := &out.Data[i/across*size+v]
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
