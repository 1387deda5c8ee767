package nn

import "gorgonia.org/gorgonia"

type (
	unary  = func(x *gorgonia.Node) (*gorgonia.Node, error)
	binary = func(x, y *gorgonia.Node) (*gorgonia.Node, error)
)

// expression writes formulas over Gorgonia nodes without an if after each operation: after the first error it computes
// nothing more.
type expression struct{ err error }

func (e *expression) of(f unary, x *gorgonia.Node) *gorgonia.Node {
	return e.run(func() (*gorgonia.Node, error) { return f(x) })
}

func (e *expression) of2(f binary, x, y *gorgonia.Node) *gorgonia.Node {
	return e.run(func() (*gorgonia.Node, error) { return f(x, y) })
}

func (e *expression) run(f func() (*gorgonia.Node, error)) *gorgonia.Node {
	if e.err != nil {
		return nil
	}
	n, err := f()
	e.err = err
	return n
}

func sumAll(x *gorgonia.Node) (*gorgonia.Node, error) { return gorgonia.Sum(x) }

// weightedMean is sum_rj weight[r,j] x[r,j] / n, n the width: what losses that are means over a row return.
func (e *expression) weightedMean(x, weight *gorgonia.Node) (*gorgonia.Node, error) {
	sum := e.of(sumAll, e.of2(gorgonia.HadamardProd, x, weight))
	perColumn := gorgonia.NewConstant(1 / float32(weight.Shape()[1]))
	return e.of2(gorgonia.HadamardProd, sum, perColumn), e.err
}

// broadcast are the ops of Gorgonia that repeat what is narrower by themselves, and whose gradients do too.
func broadcast(op Op) func(a, b *gorgonia.Node, left, right []byte) (*gorgonia.Node, error) {
	switch op {
	case OpAdd, OpAddBias:
		return gorgonia.BroadcastAdd
	case OpSub:
		return gorgonia.BroadcastSub
	case OpMul:
		return gorgonia.BroadcastHadamardProd
	case OpDiv:
		return gorgonia.BroadcastHadamardDiv
	}
	return nil
}
