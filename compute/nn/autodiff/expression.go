package autodiff

import (
	"fmt"
	"sync"

	"gorgonia.org/gorgonia"
	"gorgonia.org/tensor"

	"github.com/stoker-ml/stoker/compute/nn"
	"github.com/stoker-ml/stoker/compute/nn/plan"
)

type (
	unary  = func(x *gorgonia.Node) (*gorgonia.Node, error)
	binary = func(x, y *gorgonia.Node) (*gorgonia.Node, error)
)

// expression writes formulas over Gorgonia nodes without checking each operation's error: after the
// first error it does nothing more.
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

// weightedMean is sum_rj weight[r,j] x[r,j] / n, n being the width: the result of losses that are
// means over a row.
func (e *expression) weightedMean(x, weight *gorgonia.Node) (*gorgonia.Node, error) {
	sum := e.of(sumAll, e.of2(gorgonia.HadamardProd, x, weight))
	perColumn := gorgonia.NewConstant(1 / float32(weight.Shape()[1]))
	return e.of2(gorgonia.HadamardProd, sum, perColumn), e.err
}

// broadcast returns Gorgonia's op that repeats a narrower operand by itself, as its gradient does.
func broadcast(op nn.Op) func(a, b *gorgonia.Node, left, right []byte) (*gorgonia.Node, error) {
	switch op {
	case nn.OpAdd, nn.OpAddBias:
		return gorgonia.BroadcastAdd
	case nn.OpSub:
		return gorgonia.BroadcastSub
	case nn.OpMul:
		return gorgonia.BroadcastHadamardProd
	case nn.OpDiv:
		return gorgonia.BroadcastHadamardDiv
	}
	return nil
}

// expressing is held while an expression is written: Gorgonia's expressions share the nodes of some
// constants, and store their hashes in them.
var expressing sync.Mutex

// compile writes body, the loss and its gradients as a Gorgonia expression, and compiles that.
func (p *Program) compile(body *nn.Graph) (*plan.Plan, []average, error) {
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
func (p *Program) express(l *lowering, body *nn.Graph) (e plan.Expression, err error) {
	target, weight := l.matrix(targetName, p.model.Width()), l.matrix(weightName, p.model.Width())
	e.Cost, err = express(p.model.Loss, l.nodes[p.model.Logits], target, weight)
	if err == nil {
		e.Cost, err = l.penalized(p.model, e.Cost)
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

// Names of inputs that no layer can have, because a feature may be called target.
const (
	targetName = "(target)"
	weightName = "(weight)"
	shareName  = "(share of a row)"
)

func momentNames(i int) (mean, variance string) {
	return fmt.Sprintf("mean %d", i), fmt.Sprintf("variance %d", i)
}

// differentiate adds all trainable params in their order, and the gradients of those that the loss
// needs.
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

// lowering writes the body of a graph as a Gorgonia expression for one batch size, because Gorgonia
// fixes shapes when a graph is built.
type lowering struct {
	expression
	expr   *gorgonia.ExprGraph
	batch  int
	nodes  map[string]*gorgonia.Node
	params map[string]*nn.Param

	constants int            // number of constants so far
	step      *uint64        // the program's current step
	share     *gorgonia.Node // [1,b]: see standardize; nil if no layer needs it
	averages  []average
}

func newLowering(body *nn.Graph, batch int, step *uint64) *lowering {
	l := &lowering{expr: gorgonia.NewGraph(), batch: batch, nodes: map[string]*gorgonia.Node{}, params: paramsOf(body), step: step}
	for _, in := range body.Inputs {
		l.nodes[in.Name] = l.input(in)
	}
	for i := range body.Nodes {
		l.lower(&body.Nodes[i])
	}
	return l
}

// input is a float matrix [b,w], or for indices a vector of all b*w of them.
func (l *lowering) input(in nn.Input) *gorgonia.Node {
	if in.Kind == nn.Int64 {
		return gorgonia.NewVector(l.expr, tensor.Int, gorgonia.WithName(in.Name), gorgonia.WithShape(l.batch*in.Width))
	}
	return l.matrix(in.Name, in.Width)
}

func (l *lowering) matrix(name string, width int) *gorgonia.Node {
	return gorgonia.NewMatrix(l.expr, tensor.Float32, gorgonia.WithName(name), gorgonia.WithShape(l.batch, width))
}

// operand returns a node, or creates a param at its first use: its tensor is a view of the param's
// values. A vector is one row.
func (l *lowering) operand(name string) *gorgonia.Node {
	if n := l.nodes[name]; n != nil {
		return n
	}
	p := l.params[name]
	shape := p.Shape
	if len(shape) == 1 {
		shape = []int{1, shape[0]}
	}
	value := tensor.New(tensor.WithShape(shape...), tensor.WithBacking(p.Values))
	n := gorgonia.NewMatrix(l.expr, tensor.Float32, gorgonia.WithName(name), gorgonia.WithValue(value))
	l.nodes[name] = n
	return n
}

func (l *lowering) lower(n *nn.Node) {
	if l.err != nil {
		return
	}
	var in []*gorgonia.Node
	for _, name := range n.In {
		if p := l.params[name]; p == nil || !p.Moving || !n.Op.TrainingOnly() {
			in = append(in, l.operand(name))
		}
	}
	l.nodes[n.Name] = l.op(n, in)
	if l.err != nil {
		l.err = fmt.Errorf("node %q, %s: %w", n.Name, n.Op, l.err)
	}
}

func (l *lowering) op(n *nn.Node, in []*gorgonia.Node) *gorgonia.Node {
	if _, ok := n.Op.Binary(); ok {
		return l.combine(n.Op, in[0], in[1])
	}
	if y := l.elementwise(n, in[0]); y != nil || l.err != nil {
		return y
	}
	switch n.Op {
	case nn.OpSum, nn.OpMean, nn.OpMax:
		return l.reduce(n.Op, in[0])
	case nn.OpMatMul:
		return l.of2(gorgonia.Mul, in[0], in[1])
	case opSparse:
		return l.run(func() (*gorgonia.Node, error) { return sparseNode(in[0], in[1], in[2]) })
	case opRows:
		return l.of2(gorgonia.Mul, in[0], l.rows(in[1], n.Attr.Start, n.Attr.End))
	case nn.OpSlice:
		return l.slice(in[0], n.Attr.Start, n.Attr.End)
	case nn.OpSoftmax:
		return l.of(softmaxNode, in[0])
	case nn.OpConcat:
		return l.run(func() (*gorgonia.Node, error) { return gorgonia.Concat(1, in...) })
	case nn.OpEmbed:
		return l.embed(in[0], in[1])
	case nn.OpDropout:
		return l.dropout(n, in[0])
	case nn.OpStandardize:
		return l.standardize(n, in[0])
	}
	l.err = fmt.Errorf("has no gradient")
	return nil
}
