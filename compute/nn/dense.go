package nn

import (
	"fmt"

	"github.com/stoker-ml/stoker/compute/kernel"
)

// Dense is y = act(x W + c): kernel W [in, units] by initializer.GlorotUniform, bias c [units] by Zeros, as Keras's Dense. act is OpRelu,
// OpTanh, OpSigmoid, OpSoftmax or "" for none.
func (b *Builder) Dense(name string, x Ref, units int, act Op) Ref {
	return b.DenseWith(name, x, units, DenseOptions{Activation: act})
}

// matMul is the rule of rows times a matrix.
func (c *checker) matMul(n *Node) (Type, error) {
	t, shape, err := c.withParam(n, Float32, 2)
	if err == nil && shape[0] != t.Width {
		err = fmt.Errorf("%s times param of shape %v", t, shape)
	}
	if err != nil {
		return Type{}, err
	}
	return Type{Float32, shape[1]}, nil
}

// rowParam is the rule of a param that broadcasts over every row.
func (c *checker) rowParam(n *Node) (Type, error) {
	t, shape, err := c.withParam(n, Float32, 1)
	if err == nil && shape[0] != t.Width {
		err = fmt.Errorf("%s with param of shape %v", t, shape)
	}
	return t, err
}

// matMul is y[r,j] = sum_i x[r,i] w[i,j].
func matMul(s *step, rows int) error {
	if s.sparse {
		matMulSparse(s, rows)
		return nil
	}
	k, n := s.param.Shape[0], s.param.Shape[1]
	x, w, y := s.in[0].Floats, s.param.Values, s.out.Floats
	alone.Gemm(kernel.NewMatrix(y, rows, n), kernel.NewMatrix(x, rows, k), kernel.NewMatrix(w, k, n), kernel.Product{})
	return nil
}

// matMulSparse leaves out what is multiplied by 0, in the order of i.
func matMulSparse(s *step, rows int) {
	k, n := s.param.Shape[0], s.param.Shape[1]
	x, w, y := s.in[0].Floats, s.param.Values, s.out.Floats
	clear(y)
	for r := range rows {
		yr := y[r*n : (r+1)*n]
		for i, xi := range x[r*k : (r+1)*k] {
			if xi == 0 {
				continue
			}
			for j, wij := range w[i*n : (i+1)*n] {
				yr[j] += xi * wij
			}
		}
	}
}
