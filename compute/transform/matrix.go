package transform

import (
	"fmt"
	"math"
)

// buildMatMul multiplies two matrices, either of which may lie on its side.
func buildMatMul(n *node) (kernel, error) {
	a, b := n.boolean("transpose_a", false), n.boolean("transpose_b", false)
	if n.boolean("adj_x", false) || n.boolean("adj_y", false) {
		return nil, fmt.Errorf("adjoint matrices aren't executed")
	}
	return byType{float32Type: multiply[float32](a, b), float64Type: multiply[float64](a, b)}.pick(n, 2, 0)
}

func multiply[T floating](turnedA, turnedB bool) kernel {
	return func(c *call) error {
		a, b := arg[T](c, 0), arg[T](c, 1)
		if len(a.dims) != 2 || len(b.dims) != 2 {
			return fmt.Errorf("shapes %v and %v aren't matrices", a.dims, b.dims)
		}
		rows, inner, rowStep, innerStep := side(a.dims, turnedA)
		depth, columns, depthStep, columnStep := side(b.dims, turnedB)
		if inner != depth {
			return fmt.Errorf("shapes %v and %v can't be multiplied", a.dims, b.dims)
		}
		if err := c.allow([]int{rows, columns}); err != nil {
			return err
		}
		out := room[T](c, 0, rows, columns)
		for i := range rows {
			for j := range columns {
				sum := T(0)
				for k := range inner {
					sum += a.data[i*rowStep+k*innerStep] * b.data[k*depthStep+j*columnStep]
				}
				out.data[i*columns+j] = sum
			}
		}
		return nil
	}
}

// side is the size of a matrix, and the steps along its rows' and columns' direction.
func side(dims []int, turned bool) (rows, columns, rowStep, columnStep int) {
	if turned {
		return dims[1], dims[0], 1, dims[1]
	}
	return dims[0], dims[1], dims[1], 1
}

// buildSoftmax is e^x / sum of e^x over the last dimension, x less its largest.
func buildSoftmax(n *node) (kernel, error) {
	return byType{float32Type: softmax[float32], float64Type: softmax[float64]}.pick(n, 1, 0)
}

func softmax[T floating](c *call) error {
	in := arg[T](c, 0)
	last := len(in.dims) - 1
	if last < 0 {
		return fmt.Errorf("a scalar has no softmax")
	}
	out, width := room[T](c, 0, in.dims...), in.dims[last]
	for row := range count(in.dims[:last]) {
		from, to := in.data[row*width:(row+1)*width], out.data[row*width:(row+1)*width]
		largest, sum := folding(T(math.Inf(-1)), greatest[T])(from), T(0)
		for i, v := range from {
			to[i] = T(math.Exp(float64(v - largest)))
			sum += to[i]
		}
		for i := range to {
			to[i] /= sum
		}
	}
	return nil
}
