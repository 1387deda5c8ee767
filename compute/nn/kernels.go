package nn

import (
	"fmt"
	"math"
	"slices"
)

// kernelOf is nil for an unknown op; Types refuses those before.
func kernelOf(n *Node) kernel {
	if f := combination(n.Op); f != nil {
		return combine(f)
	}
	if f := elementwise(n); f != nil {
		return each(f)
	}
	if f := reduction(n.Op); f != nil {
		return reduce(f)
	}
	switch n.Op {
	case OpMatMul:
		return matMul
	case OpSoftmax:
		return softmax
	case OpConcat:
		return concat
	case OpSlice:
		return slice
	case OpEmbed:
		return embed
	}
	if k := indexKernelOf(n.Op); k != nil {
		return k
	}
	return choiceKernelOf(n.Op)
}

// matMul is y[r,j] = sum_i x[r,i] w[i,j], summed in the order of i.
func matMul(s *step, rows int) error {
	k, n := s.param.Shape[0], s.param.Shape[1]
	x, w, y := s.in[0].Floats, s.param.Values, s.out.Floats
	clear(y)
	for r := range rows {
		yr := y[r*n : (r+1)*n]
		for i, xi := range x[r*k : (r+1)*k] {
			if xi == 0 {
				continue // one-hot rows are mostly zeros
			}
			for j, wij := range w[i*n : (i+1)*n] {
				yr[j] += xi * wij
			}
		}
	}
	return nil
}

// each is y = f(x), element by element.
func each(f func(x float32) float32) kernel {
	return func(s *step, _ int) error {
		for i, x := range s.in[0].Floats {
			s.out.Floats[i] = f(x)
		}
		return nil
	}
}

// softmax is y[r,j] = exp(x[r,j]-m) / sum_j exp(x[r,j]-m), m the largest of the row.
func softmax(s *step, rows int) error {
	n := s.out.Width
	for r := range rows {
		softmaxRow(s.out.Floats[r*n:(r+1)*n], s.in[0].Floats[r*n:(r+1)*n])
	}
	return nil
}

func softmaxRow(y, x []float32) {
	m, sum := slices.Max(x), 0.0
	for j := range x {
		e := math.Exp(float64(x[j] - m))
		y[j] = float32(e)
		sum += e
	}
	for j := range y {
		y[j] = float32(float64(y[j]) / sum)
	}
}

// logSoftmaxRow is y[j] = x[j] - m - log sum_k exp(x[k]-m), m the largest of the row: finite where softmax underflows.
func logSoftmaxRow(y, x []float32) {
	m, sum := slices.Max(x), 0.0
	for _, xj := range x {
		sum += math.Exp(float64(xj - m))
	}
	logSum := math.Log(sum)
	for j, xj := range x {
		y[j] = float32(float64(xj-m) - logSum)
	}
}

func concat(s *step, rows int) error {
	y := s.out.Floats[:0]
	for r := range rows {
		for _, in := range s.in {
			y = append(y, in.Floats[r*in.Width:(r+1)*in.Width]...)
		}
	}
	return nil
}

// embed is y[r, c*d:(c+1)*d] = table[x[r,c]].
func embed(s *step, _ int) error {
	depth, d := s.param.Shape[0], s.param.Shape[1]
	for i, id := range s.in[0].Ints {
		if id < 0 || id >= int64(depth) {
			return fmt.Errorf("row %d: index %d is outside 0..%d", i/s.in[0].Width, id, depth-1)
		}
		copy(s.out.Floats[i*d:(i+1)*d], s.param.Values[int(id)*d:])
	}
	return nil
}
