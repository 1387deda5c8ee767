package ops

import (
	"fmt"
	"math"
)

// buildMatMul multiplies two matrices, either of which may lie on its side.
func buildMatMul(n *Node) (Kernel, error) {
	a, b := n.Boolean("transpose_a", false), n.Boolean("transpose_b", false)
	if n.Boolean("adj_x", false) || n.Boolean("adj_y", false) {
		return nil, fmt.Errorf("adjoint matrices aren't executed")
	}
	return byType{Float32: multiply[float32](a, b), Float64: multiply[float64](a, b)}.pick(n, 2, 0)
}

func multiply[T floating](turnedA, turnedB bool) Kernel {
	return func(c *Call) error {
		a, b := arg[T](c, 0), arg[T](c, 1)
		if len(a.Dims) != 2 || len(b.Dims) != 2 {
			return fmt.Errorf("shapes %v and %v aren't matrices", a.Dims, b.Dims)
		}
		rows, inner, rowStep, innerStep := side(a.Dims, turnedA)
		depth, columns, depthStep, columnStep := side(b.Dims, turnedB)
		if inner != depth {
			return fmt.Errorf("shapes %v and %v can't be multiplied", a.Dims, b.Dims)
		}
		if err := c.allow([]int{rows, columns}); err != nil {
			return err
		}
		out := room[T](c, 0, rows, columns)
		for i := range rows {
			for j := range columns {
				sum := T(0)
				for k := range inner {
					sum += a.Data[i*rowStep+k*innerStep] * b.Data[k*depthStep+j*columnStep]
				}
				out.Data[i*columns+j] = sum
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
func buildSoftmax(n *Node) (Kernel, error) {
	return byType{Float32: softmax[float32], Float64: softmax[float64]}.pick(n, 1, 0)
}

func softmax[T floating](c *Call) error {
	in := arg[T](c, 0)
	last := len(in.Dims) - 1
	if last < 0 {
		return fmt.Errorf("a scalar has no softmax")
	}
	out, width := room[T](c, 0, in.Dims...), in.Dims[last]
	for row := range Count(in.Dims[:last]) {
		from, to := in.Data[row*width:(row+1)*width], out.Data[row*width:(row+1)*width]
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
