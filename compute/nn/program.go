package nn

import (
	"fmt"
	"sync"

	"gorgonia.org/gorgonia"
	"gorgonia.org/tensor"
)

// Program computes a Model's loss and gradients for batches of up to a fixed size. A shorter batch is padded with rows of
// weight 0. Not for concurrent use. Close it.
type Program struct {
	model   *Model
	batch   int
	front   *Evaluator
	feeds   []feed
	target  []float32 // [batch, width], as weight
	weight  []float32
	share   []float32 // [1, batch], 1 over the rows for each that is there; nil where no layer asks
	steps   uint64    // taken
	loss    gorgonia.Value
	slopes  []slope
	moments []moment
	grads   []float32 // of Model.Weights
	machine gorgonia.VM
}

// feed carries one value from the front into Gorgonia; one slice is set.
type feed struct {
	name   string
	floats []float32
	ints   []int
}

// slope is the gradient of one param: where Gorgonia leaves it, and where it goes.
type slope struct {
	value gorgonia.Value
	into  []float32
}

// moment is the batch's part in a moving average: where Gorgonia leaves it, and where it goes.
type moment struct {
	average        average
	mean, variance gorgonia.Value
}

// NewProgram builds the expression graph of m for a batch size, with its gradients.
func NewProgram(m *Model, batch int) (*Program, error) {
	if batch < 1 {
		return nil, fmt.Errorf("batch size %d, expected at least 1", batch)
	}
	front, body, err := m.Graph.inTraining().split(m.Logits)
	if err != nil {
		return nil, fmt.Errorf("graph: %w", err)
	}
	p := &Program{model: m, batch: batch, grads: make([]float32, len(m.weights))}
	if p.front, err = NewEvaluator(front); err != nil {
		return nil, err
	}
	if err := p.express(body); err != nil {
		return nil, err
	}
	return p, nil
}

// expressing is held while an expression is written: Gorgonia's expressions share the nodes of some constants, and note in them
// what they hash to.
var expressing sync.Mutex

// express writes body, the loss and its gradients as a Gorgonia expression, and makes the machine that computes it.
func (p *Program) express(body *Graph) error {
	expressing.Lock()
	defer expressing.Unlock()
	l := newLowering(body, p.batch, &p.steps)
	if l.err != nil {
		return fmt.Errorf("express graph in gorgonia: %w", l.err)
	}
	if err := p.differentiate(l); err != nil {
		return fmt.Errorf("express loss %s and its gradient in gorgonia: %w", p.model.Loss.Name(), err)
	}
	p.bind(l, body)
	p.follow(l)
	p.machine = gorgonia.NewTapeMachine(l.expr)
	return nil
}

// Close gives back what the machine holds.
func (p *Program) Close() error { return p.machine.Close() }

// differentiate adds loss and gradients to l's expression, and what reads them out: after a run, an inner node's own value
// may have been overwritten.
func (p *Program) differentiate(l *lowering) error {
	target, weight := l.matrix("target", p.model.width), l.matrix("weight", p.model.width)
	p.target, p.weight = bindFloats(target), bindFloats(weight)
	cost, err := p.model.Loss.express(l.nodes[p.model.Logits], target, weight)
	if err == nil {
		cost, err = p.model.penalized(l, cost)
	}
	if err != nil {
		return err
	}
	gorgonia.Read(cost, &p.loss)
	params := p.trainable(l)
	if len(params) == 0 {
		return fmt.Errorf("the loss depends on no trainable param")
	}
	grads, err := gorgonia.Grad(cost, params...)
	if err != nil {
		return err
	}
	for i, g := range grads {
		gorgonia.Read(g, &p.slopes[i].value)
	}
	return nil
}

// trainable are the nodes of the trainable params that the loss needs, and sets a slope for each.
func (p *Program) trainable(l *lowering) gorgonia.Nodes {
	var nodes gorgonia.Nodes
	rest := p.grads
	for _, param := range p.model.Graph.Params {
		if !param.Trainable {
			continue
		}
		into := rest[:len(param.Values)]
		rest = rest[len(param.Values):]
		if n := l.nodes[param.Name]; n != nil {
			nodes = append(nodes, n)
			p.slopes = append(p.slopes, slope{into: into})
		}
	}
	return nodes
}

// bind gives every input of the body the buffer through which it is fed.
func (p *Program) bind(l *lowering, body *Graph) {
	for _, in := range body.Inputs {
		f := feed{name: in.Name}
		if in.Kind == Int64 {
			f.ints = bindInts(l.nodes[in.Name])
		} else {
			f.floats = bindFloats(l.nodes[in.Name])
		}
		p.feeds = append(p.feeds, f)
	}
}

// follow reads out what the moving averages need.
func (p *Program) follow(l *lowering) {
	if l.share != nil {
		p.share = bindFloats(l.share)
	}
	p.moments = make([]moment, len(l.averages))
	for i, a := range l.averages {
		m := &p.moments[i]
		m.average = a
		gorgonia.Read(a.batchMean, &m.mean)
		gorgonia.Read(a.batchVariance, &m.variance)
	}
}

func bindFloats(n *gorgonia.Node) []float32 {
	buffer := make([]float32, n.Shape().TotalSize())
	bindTensor(n, buffer)
	return buffer
}

func bindInts(n *gorgonia.Node) []int {
	buffer := make([]int, n.Shape().TotalSize())
	bindTensor(n, buffer)
	return buffer
}

// bindTensor can't fail: shape and type are the node's own.
func bindTensor(n *gorgonia.Node, buffer any) {
	if err := gorgonia.Let(n, tensor.New(tensor.WithShape(n.Shape()...), tensor.WithBacking(buffer))); err != nil {
		panic(err)
	}
}
