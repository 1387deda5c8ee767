package ops

import (
	"fmt"
	"slices"

	"github.com/stoker-ml/stoker/compute/tf/tensor"
)

// buildMatMul multiplies two matrices, either of which may be transposed.
func buildMatMul(n *Node) (Kernel, error) {
	a, b := n.Boolean("transpose_a", false), n.Boolean("transpose_b", false)
	if n.Boolean("adj_x", false) || n.Boolean("adj_y", false) {
		return nil, fmt.Errorf("adjoint matrices aren't executed")
	}
	return byType{tensor.Float32: multiply[float32](a, b), tensor.Float64: multiply[float64](a, b)}.pick(n, 2, 0)
}

func multiply[T floating](turnedA, turnedB bool) Kernel {
	return func(c *Call) error {
		a, b := arg[T](c, 0), arg[T](c, 1)
		if len(a.Dims) != 2 || len(b.Dims) != 2 {
			return fmt.Errorf("shapes %v and %v aren't matrices", a.Dims, b.Dims)
		}
		return products(c, a, b, turnedA, turnedB)
	}
}

// buildBatchMatMul multiplies the matrices of the last two dimensions; the other dimensions
// broadcast.
func buildBatchMatMul(n *Node) (Kernel, error) {
	a, b := n.Boolean("adj_x", false), n.Boolean("adj_y", false)
	return byType{tensor.Float32: multiplyAll[float32](a, b), tensor.Float64: multiplyAll[float64](a, b)}.pick(n, 2, 0)
}

func multiplyAll[T floating](turnedA, turnedB bool) Kernel {
	return func(c *Call) error { return products(c, arg[T](c, 0), arg[T](c, 1), turnedA, turnedB) }
}

// products multiplies matrix by matrix.
func products[T floating](c *Call, a, b *tensor.Array[T], turnedA, turnedB bool) error {
	if len(a.Dims) < 2 || len(b.Dims) < 2 {
		return fmt.Errorf("shapes %v and %v aren't matrices", a.Dims, b.Dims)
	}
	beforeA, beforeB := a.Dims[:len(a.Dims)-2], b.Dims[:len(b.Dims)-2]
	before, err := broadcast(beforeA, beforeB)
	if err != nil {
		return err
	}
	x, y := side(a.Dims[len(beforeA):], turnedA), side(b.Dims[len(beforeB):], turnedB)
	if x.columns != y.rows {
		return fmt.Errorf("shapes %v and %v can't be multiplied", a.Dims, b.Dims)
	}
	dims := slices.Concat(before, []int{x.rows, y.columns})
	if err := c.allow(dims); err != nil {
		return err
	}
	out, size := newOutput[T](c, 0, dims...), x.rows*y.columns
	placesA, placesB := c.places(0, before, repeatSteps(beforeA, before)), c.places(0, before, repeatSteps(beforeB, before))
	for i := range placesA {
		product(c, out.Data[i*size:(i+1)*size], a.Data[placesA[i]*x.size():], b.Data[placesB[i]*y.size():], x, y)
	}
	return nil
}

// product adds up, for each element, in the order of the terms.
func product[T floating](c *Call, out, a, b []T, x, y matrix) {
	clear(out)
	for i := range x.rows {
		to := out[i*y.columns : (i+1)*y.columns]
		c.tick(x.columns * y.columns)
		for k := range x.columns {
			factor := a[i*x.rowStep+k*x.columnStep]
			if y.columnStep == 1 {
				for j, v := range b[k*y.rowStep : k*y.rowStep+y.columns] {
					to[j] += factor * v
				}
				continue
			}
			for j := range to {
				to[j] += factor * b[k*y.rowStep+j*y.columnStep]
			}
		}
	}
}

// matrix is the layout of a matrix in memory: its size, and the steps along its rows and columns.
type matrix struct{ rows, columns, rowStep, columnStep int }

func (m matrix) size() int { return m.rows * m.columns }

func side(dims []int, turned bool) matrix {
	if turned {
		return matrix{dims[1], dims[0], 1, dims[1]}
	}
	return matrix{dims[0], dims[1], dims[1], 1}
}

// buildSparseMatMul multiplies a sparse matrix, inputs 0 to 2, by a dense one.
func buildSparseMatMul(n *Node) (Kernel, error) {
	if n.Boolean("adjoint_a", false) || n.Boolean("adjoint_b", false) {
		return nil, fmt.Errorf("adjoint matrices aren't executed")
	}
	if err := n.takes(4); err != nil {
		return nil, err
	}
	if err := n.want(n.In[0], n.In[1], tensor.Int64, n.In[1]); err != nil {
		return nil, err
	}
	if err := n.wantInts(0); err != nil {
		return nil, err
	}
	n.Out = n.In[1:2]
	kernels := byType{tensor.Float32: multiplySparse[float32], tensor.Float64: multiplySparse[float64]}
	if k, ok := kernels[n.In[1]]; ok {
		return k, nil
	}
	return nil, fmt.Errorf("input 1 is %v: %w", n.In[1], errType)
}

func multiplySparse[T floating](c *Call) error {
	s, err := sparseArg(c, 0)
	if err != nil {
		return err
	}
	b := arg[T](c, 3)
	if len(s.Dims) != 2 || len(b.Dims) != 2 || s.Dims[1] != b.Dims[0] {
		return fmt.Errorf("shapes %v and %v can't be multiplied", s.Dims, b.Dims)
	}
	width := b.Dims[1]
	if err := c.allow([]int{s.Dims[0], width}); err != nil {
		return err
	}
	out := newOutput[T](c, 0, s.Dims[0], width)
	clear(out.Data)
	for i, factor := range s.Values.(*tensor.Array[T]).Data {
		at := s.Index(i)
		if at[0] < 0 || at[0] >= s.Dims[0] || at[1] < 0 || at[1] >= s.Dims[1] {
			return fmt.Errorf("index %v is not in shape %v", at, s.Dims)
		}
		c.tick(width)
		to := out.Data[at[0]*width:]
		for j, v := range b.Data[at[1]*width : (at[1]+1)*width] {
			to[j] += factor * v
		}
	}
	return nil
}
