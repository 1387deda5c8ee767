package plan

import (
	"testing"

	"gorgonia.org/gorgonia"
	"gorgonia.org/tensor"
)

// grow writes a random expression of some matrices, in which each op has existing operands.
func grow(w *written, ops int) *gorgonia.Node {
	there := gorgonia.Nodes{w.param(4, 3), w.input(4, 3), w.param(3, 3), w.param(4, 1), w.param(1, 3)}
	any := func() *gorgonia.Node { return there[w.r.Intn(len(there))] }
	of := func(rows, cols int) *gorgonia.Node {
		for range 20 {
			if x := any(); x.Shape()[0] == rows && x.Shape()[1] == cols {
				return x
			}
		}
		return w.param(rows, cols)
	}
	for range ops {
		there = append(there, step(w, any(), of))
	}
	cost := w.weighted(there[len(there)-1])
	for _, x := range there[:len(there)-1] {
		cost = must(gorgonia.Add(cost, w.weighted(x)))
	}
	return cost
}

// step is one op on x. Results that could become too large are squashed.
func step(w *written, x *gorgonia.Node, of func(rows, cols int) *gorgonia.Node) *gorgonia.Node {
	rows, cols := x.Shape()[0], x.Shape()[1]
	switch w.r.Intn(14) {
	case 0:
		return must(gorgonia.Rectify(x))
	case 1:
		return must(gorgonia.Sigmoid(x))
	case 2:
		return must(gorgonia.Neg(x))
	case 3:
		return must(gorgonia.Add(x, of(rows, cols)))
	case 4:
		return must(gorgonia.Sub(of(rows, cols), x))
	case 5:
		return must(gorgonia.Tanh(must(gorgonia.HadamardProd(x, of(rows, cols)))))
	case 6:
		return must(gorgonia.Tanh(must(gorgonia.Mul(x, of(cols, 3)))))
	case 7:
		return must(gorgonia.Tanh(must(gorgonia.Mul(of(4, rows), x))))
	case 8:
		return must(gorgonia.Reshape(x, tensor.Shape{cols, rows}))
	case 9:
		return must(gorgonia.Transpose(x, 1, 0))
	case 10:
		return must(gorgonia.Concat(1, x, of(rows, 3)))
	case 11:
		return must(gorgonia.HadamardProd(x, gorgonia.NewConstant(float32(0.5))))
	case 12:
		if rows > 1 {
			return must(gorgonia.Tanh(must(gorgonia.BroadcastAdd(x, of(1, cols), nil, []byte{0}))))
		}
		return must(gorgonia.Softplus(x))
	default:
		return must(gorgonia.Square(must(gorgonia.Tanh(x))))
	}
}

func TestRandomExpressionsAreAsTheirOpsHaveThem(t *testing.T) {
	t.Parallel()
	n := int64(200)
	if testing.Short() {
		n = 40
	}
	for seed := range n {
		w := write(t, seed, func(w *written) *gorgonia.Node { return grow(w, 4+int(seed%12)) })
		got, p := w.byPlan(t)
		got.compare(t, w.byOps(t))
		checkMemory(t, p)
		if t.Failed() {
			t.Fatalf("seed %d", seed)
		}
	}
}
