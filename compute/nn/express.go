package nn

import (
	"fmt"
	"sync"

	"gorgonia.org/gorgonia"

	"github.com/stoker-ml/stoker/compute/nn/plan"
)

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
