package nn

import (
	"math"
	"slices"
)

// kernelOf is nil for an unknown op; Types refuses those before.
func kernelOf(n *Node) stepFunc {
	if k := combination(n.Op); k != nil {
		return k
	}
	if k := elementwise(n); k != nil {
		return k
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

// each is y = f(x), element by element.
func each(f func(x float32) float32) stepFunc {
	return func(s *step, _ int) error {
		for i, x := range s.in[0].Floats {
			s.out.Floats[i] = f(x)
		}
		return nil
	}
}

func softmax(s *step, rows int) error {
	alone.Softmax(s.out.Floats, s.in[0].Floats, rows, s.out.Width)
	return nil
}

// softmaxRow is y[j] = exp(x[j]-m) / sum_k exp(x[k]-m), m the largest of the row.
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
