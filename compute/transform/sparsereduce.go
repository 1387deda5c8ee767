package transform

import (
	"errors"
	"fmt"
	"slices"
)

// sparseReduction is SparseReduceSum and SparseReduceMax, and with an outcome that is sparse again, SparseReduceSumSparse.
func sparseReduction(kernels func(r sparseReducer) byType, sparse bool) op {
	made := op{build: func(n *node) (kernel, error) {
		if err := n.takes(4); err != nil {
			return nil, err
		}
		k, ok := kernels(sparseReducer{keep: n.boolean("keep_dims", false), sparse: sparse})[n.in[1]]
		if !ok {
			return nil, fmt.Errorf("input 1 is %v: %w", n.in[1], errType)
		}
		n.out = n.in[1:2]
		if sparse {
			n.out = n.in[:3]
		}
		return k, errors.Join(n.wantSparse(0), n.wantInts(3))
	}}
	if sparse {
		made.outputs = sparseOutputs
	}
	return made
}

type sparseReducer struct{ keep, sparse bool }

func sparseSums(r sparseReducer) byType {
	return byType{
		float32Type: reduceSparse(r, plus[float32]), float64Type: reduceSparse(r, plus[float64]),
		int32Type: reduceSparse(r, plus[int32]), int64Type: reduceSparse(r, plus[int64]),
	}
}

func sparseMaxima(r sparseReducer) byType {
	return byType{
		float32Type: reduceSparse(r, above[float32]), float64Type: reduceSparse(r, above[float64]),
		int32Type: reduceSparse(r, above[int32]), int64Type: reduceSparse(r, above[int64]),
	}
}

// reduceSparse folds the values that are there. Where there are none the outcome is 0.
func reduceSparse[T number](r sparseReducer, f func(a, b T) T) kernel {
	return func(c *call) error {
		s, err := sparseArg(c, 0)
		if err != nil {
			return err
		}
		g, err := group(s.dims[:len(s.dims):len(s.dims)], integers(c.in[3]))
		if err != nil {
			return err
		}
		return foldSparse(c, r, s, g.gone, f)
	}
}

func foldSparse[T number](c *call, r sparseReducer, s coords, gone []bool, f func(a, b T) T) error {
	var dims []int
	for d, size := range s.dims {
		if !gone[d] {
			dims = append(dims, size)
		} else if r.keep {
			dims = append(dims, 1)
		}
	}
	if err := c.allow(dims); err != nil {
		return err
	}
	sums, order, err := sumsByPlace(s, gone, r.keep, dims, f)
	if err != nil {
		return err
	}
	if !r.sparse {
		out := room[T](c, 0, dims...)
		clear(out.data)
		for at, v := range sums {
			out.data[at] = v
		}
		return nil
	}
	slices.Sort(order)
	indices, values := room[int64](c, 0, len(order), len(dims)), room[T](c, 1, len(order))
	for i, at := range order {
		values.data[i] = sums[at]
		rest := at
		for d := len(dims) - 1; d >= 0; d-- {
			indices.data[i*len(dims)+d] = int64(rest % dims[d])
			rest /= dims[d]
		}
	}
	copyInts(room[int64](c, 2, len(dims)).data, dims)
	return nil
}

// sumsByPlace folds by the place in the outcome, and lists the places.
func sumsByPlace[T number](s coords, gone []bool, keep bool, dims []int, f func(a, b T) T) (map[int]T, []int, error) {
	values := s.values.(*array[T]).data
	sums, order := map[int]T{}, []int{}
	for i, v := range values {
		var index []int
		for d, at := range s.index(i) {
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
