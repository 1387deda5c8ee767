package nn

import (
	"fmt"
	"sync"

	"gorgonia.org/gorgonia"

	"github.com/stoker-ml/stoker/compute/nn/plan"
)

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

// expressing is held while an expression is written: Gorgonia's expressions share the nodes of some constants, and note in them
// what they hash to.
var expressing sync.Mutex

// compile writes body, the loss and its gradients as a Gorgonia expression, and compiles that.
func (p *Program) compile(body *Graph) (*plan.Plan, []average, error) {
	expressing.Lock()
	defer expressing.Unlock()
	l := newLowering(body, p.batch, &p.steps)
	if l.err != nil {
		return nil, nil, fmt.Errorf("express graph in gorgonia: %w", l.err)
	}
	e, err := p.express(l, body)
	if err != nil {
		return nil, nil, fmt.Errorf("express loss %s and its gradient in gorgonia: %w", p.model.Loss.Name(), err)
	}
	compiled, err := plan.Compile(e)
	return compiled, l.averages, err
}

// express adds loss and gradients to l's expression.
func (p *Program) express(l *lowering, body *Graph) (e plan.Expression, err error) {
	target, weight := l.matrix(targetName, p.model.width), l.matrix(weightName, p.model.width)
	e.Cost, err = p.model.Loss.express(l.nodes[p.model.Logits], target, weight)
	if err == nil {
		e.Cost, err = p.model.penalized(l, e.Cost)
	}
	if err != nil {
		return e, err
	}
	e.Inputs = gorgonia.Nodes{target, weight}
	for _, in := range body.Inputs {
		e.Inputs = append(e.Inputs, l.nodes[in.Name])
	}
	if l.share != nil {
		e.Inputs = append(e.Inputs, l.share)
	}
	e.Outputs = map[string]*gorgonia.Node{}
	for i, a := range l.averages {
		mean, variance := momentNames(i)
		e.Outputs[mean], e.Outputs[variance] = a.batchMean, a.batchVariance
	}
	return e, p.differentiate(l, &e)
}

// Names of inputs that no layer has: a feature may be called target.
const (
	targetName = "(target)"
	weightName = "(weight)"
	shareName  = "(share of a row)"
)

func momentNames(i int) (mean, variance string) {
	return fmt.Sprintf("mean %d", i), fmt.Sprintf("variance %d", i)
}

// differentiate adds all trainable params in their order, and the gradients of those that the loss needs.
func (p *Program) differentiate(l *lowering, e *plan.Expression) error {
	var needed gorgonia.Nodes
	var at []int
	p.learned = learned{}
	weights := 0
	for _, param := range p.model.Graph.Params {
		if !param.Trainable {
			continue
		}
		n := l.nodes[param.Name]
		p.learned.take(weights, len(param.Values), n != nil)
		weights += len(param.Values)
		if n != nil {
			needed = append(needed, n)
			at = append(at, len(e.Params))
		}
		e.Params = append(e.Params, l.operand(param.Name))
	}
	if len(needed) == 0 {
		return fmt.Errorf("the loss depends on no trainable param")
	}
	grads, err := gorgonia.Grad(e.Cost, needed...)
	if err != nil {
		return err
	}
	e.Grads = make(gorgonia.Nodes, len(e.Params))
	for i, g := range grads {
		e.Grads[at[i]] = g
	}
	return nil
}
