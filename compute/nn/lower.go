package nn

import (
	"fmt"

	"gorgonia.org/gorgonia"
	"gorgonia.org/tensor"
)

// lowering writes the body of a graph as a Gorgonia expression for one batch size; Gorgonia fixes shapes when a graph is
// built.
type lowering struct {
	expression
	expr   *gorgonia.ExprGraph
	batch  int
	nodes  map[string]*gorgonia.Node
	params map[string]*Param

	constants int            // made so far
	step      *uint64        // of the program: the step that is computed
	share     *gorgonia.Node // [1,b]: see standardize; nil where no layer asks
	averages  []average
}

func newLowering(body *Graph, batch int, step *uint64) *lowering {
	l := &lowering{expr: gorgonia.NewGraph(), batch: batch, nodes: map[string]*gorgonia.Node{}, params: body.params(), step: step}
	for _, in := range body.Inputs {
		l.nodes[in.Name] = l.input(in)
	}
	for i := range body.Nodes {
		l.lower(&body.Nodes[i])
	}
	return l
}

// input is a float matrix [b,w], or for indices a vector of all b*w of them.
func (l *lowering) input(in Input) *gorgonia.Node {
	if in.Kind == Int64 {
		return gorgonia.NewVector(l.expr, tensor.Int, gorgonia.WithName(in.Name), gorgonia.WithShape(l.batch*in.Width))
	}
	return l.matrix(in.Name, in.Width)
}

func (l *lowering) matrix(name string, width int) *gorgonia.Node {
	return gorgonia.NewMatrix(l.expr, tensor.Float32, gorgonia.WithName(name), gorgonia.WithShape(l.batch, width))
}

// operand is a node, or a param on its first use: its tensor is a view of the param's values. A vector stands as one row.
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

func (l *lowering) lower(n *Node) {
	if l.err != nil {
		return
	}
	var in []*gorgonia.Node
	for _, name := range n.In {
		if p := l.params[name]; p == nil || !p.Moving || !trainsOnly(n.Op) {
			in = append(in, l.operand(name))
		}
	}
	l.nodes[n.Name] = l.op(n, in)
	if l.err != nil {
		l.err = fmt.Errorf("node %q, %s: %w", n.Name, n.Op, l.err)
	}
}

func (l *lowering) op(n *Node, in []*gorgonia.Node) *gorgonia.Node {
	if combination(n.Op) != nil {
		return l.combine(n.Op, in[0], in[1])
	}
	if y := l.elementwise(n, in[0]); y != nil || l.err != nil {
		return y
	}
	if reduction(n.Op) != nil {
		return l.reduce(n.Op, in[0])
	}
	switch n.Op {
	case OpMatMul:
		return l.of2(gorgonia.Mul, in[0], in[1])
	case opSparse:
		return l.run(func() (*gorgonia.Node, error) { return sparseNode(in[0], in[1], in[2]) })
	case opRows:
		return l.of2(gorgonia.Mul, in[0], l.rows(in[1], n.Attr.Start, n.Attr.End))
	case OpSlice:
		return l.slice(in[0], n.Attr.Start, n.Attr.End)
	case OpSoftmax:
		return l.of(softmaxNode, in[0])
	case OpConcat:
		return l.run(func() (*gorgonia.Node, error) { return gorgonia.Concat(1, in...) })
	case OpEmbed:
		return l.embed(in[0], in[1])
	case OpDropout:
		return l.dropout(n, in[0])
	case OpStandardize:
		return l.standardize(n, in[0])
	}
	l.err = fmt.Errorf("has no gradient")
	return nil
}
