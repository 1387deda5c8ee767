package ops

import (
	"errors"
	"fmt"
	"slices"

	"github.com/stoker-ml/stoker/compute/tf/tensor"
)

// sparseReduction builds SparseReduceSum and SparseReduceMax, and, with a sparse result,
// SparseReduceSumSparse.
func sparseReduction(kernels func(r sparseReducer) byType, sparse bool) Op {
	made := Op{Build: func(n *Node) (Kernel, error) {
		if err := n.takes(4); err != nil {
			return nil, err
		}
		k, ok := kernels(sparseReducer{keep: n.Boolean("keep_dims", false), sparse: sparse})[n.In[1]]
		if !ok {
			return nil, fmt.Errorf("input 1 is %v: %w", n.In[1], errType)
		}
		n.Out = n.In[1:2]
		if sparse {
			n.Out = n.In[:3]
		}
		return k, errors.Join(n.wantSparse(0), n.wantInts(3))
	}}
	if sparse {
		made.Outputs = sparseOutputs
	}
	return made
}

type sparseReducer struct{ keep, sparse bool }

func sparseSums(r sparseReducer) byType {
	return byType{
		tensor.Float32: reduceSparse(r, plus[float32]), tensor.Float64: reduceSparse(r, plus[float64]),
		tensor.Int32: reduceSparse(r, plus[int32]), tensor.Int64: reduceSparse(r, plus[int64]),
	}
}

func sparseMaxima(r sparseReducer) byType {
	return byType{
		tensor.Float32: reduceSparse(r, above[float32]), tensor.Float64: reduceSparse(r, above[float64]),
		tensor.Int32: reduceSparse(r, above[int32]), tensor.Int64: reduceSparse(r, above[int64]),
	}
}

// reduceSparse reduces the existing values. If there are none, the result is 0.
func reduceSparse[T number](r sparseReducer, f func(a, b T) T) Kernel {
	return func(c *Call) error {
		s, err := sparseArg(c, 0)
		if err != nil {
			return err
		}
		gone, err := goneOf(len(s.Dims), c.ints(3))
		if err != nil {
			return err
		}
		return foldSparse(c, r, s, gone, f)
	}
}

func foldSparse[T number](c *Call, r sparseReducer, s Coords, gone []bool, f func(a, b T) T) error {
	var dims []int
	for d, size := range s.Dims {
		if !gone[d] {
			dims = append(dims, size)
		} else if r.keep {
			dims = append(dims, 1)
		}
	}
	if err := c.allow(dims); err != nil {
		return err
	}
	c.use(64 * int64(s.Values.Size()))
	sums, order, err := sumsByPlace(c, s, gone, r.keep, dims, f)
	if err != nil {
		return err
	}
	if !r.sparse {
		out := newOutput[T](c, 0, dims...)
		clear(out.Data)
		for at, v := range sums {
			out.Data[at] = v
		}
		return nil
	}
	slices.Sort(order)
	indices, values := newOutput[int64](c, 0, len(order), len(dims)), newOutput[T](c, 1, len(order))
	for i, at := range order {
		values.Data[i] = sums[at]
		rest := at
		for d := len(dims) - 1; d >= 0; d-- {
			indices.Data[i*len(dims)+d] = int64(rest % dims[d])
			rest /= dims[d]
		}
	}
	copyInts(newOutput[int64](c, 2, len(dims)).Data, dims)
	return nil
}

// sumsByPlace reduces by the position in the result, and lists the positions.
func sumsByPlace[T number](c *Call, s Coords, gone []bool, keep bool, dims []int, f func(a, b T) T) (map[int]T, []int, error) {
	values := s.Values.(*tensor.Array[T]).Data
	sums, order := map[int]T{}, []int{}
	for i, v := range values {
		var index []int
		c.tick(len(s.Dims))
		for d, at := range s.Index(i) {
			if !gone[d] {
				index = append(index, at)
			} else if keep {
				index = append(index, 0)
			}
		}
		at, err := flatIndex(index, dims)
		if err != nil {
			return nil, nil, err
		}
		if have, ok := sums[at]; ok {
			sums[at] = f(have, v)
		} else {
			sums[at], order = v, append(order, at)
		}
	}
	return sums, order, nil
}
