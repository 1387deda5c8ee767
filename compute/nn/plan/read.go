package plan

import (
	"fmt"

	"gorgonia.org/gorgonia"
	"gorgonia.org/tensor"
)

// node is one node of an expression, with the values of its operands.
type node struct {
	*gorgonia.Node
	op   string // the type of its op: they are not exported
	says string // its op's String
	in   []*value
	kids gorgonia.Nodes

	rows, cols int
}

// valueOf is the value of n, made of those of its operands; without recursion, since expressions
// can be deep.
func (c *compiler) valueOf(n *gorgonia.Node) (*value, error) {
	stack := gorgonia.Nodes{n}
	for len(stack) > 0 {
		top := stack[len(stack)-1]
		missing := c.missing(top)
		if len(missing) > 0 {
			stack = append(stack, missing...)
			continue
		}
		stack = stack[:len(stack)-1]
		if c.values[top] != nil {
			continue
		}
		v, err := c.translate(top)
		if err != nil {
			return nil, err
		}
		c.values[top] = v
	}
	return c.values[n], nil
}

func (c *compiler) missing(n *gorgonia.Node) gorgonia.Nodes {
	if c.values[n] != nil {
		return nil
	}
	var missing gorgonia.Nodes
	for _, kid := range operands(n) {
		if c.values[kid] == nil {
			missing = append(missing, kid)
		}
	}
	return missing
}

// operands are the nodes that n is computed from, in order. A size is known, so it needs none; nor
// does a constant, which several expressions may share.
func operands(n *gorgonia.Node) gorgonia.Nodes {
	if n.Op() == nil || n.Op().Arity() == 0 || isSize(n.Op()) || isConstant(n.Op()) {
		return nil
	}
	var kids gorgonia.Nodes
	for it := n.Graph().From(n.ID()); it.Next(); {
		kids = append(kids, it.Node().(*gorgonia.Node))
	}
	return kids
}

func isSize(op gorgonia.Op) bool { return typeOf(op) == "gorgonia.sizeOp" }

func isConstant(op gorgonia.Op) bool {
	return typeOf(op) == "gorgonia.constantScalar" || typeOf(op) == "gorgonia.constantTensor"
}

func typeOf(op gorgonia.Op) string { return fmt.Sprintf("%T", op) }

func (c *compiler) translate(n *gorgonia.Node) (*value, error) {
	if n.Op() == nil || isConstant(n.Op()) {
		return c.constant(n)
	}
	d := node{Node: n, op: typeOf(n.Op()), says: n.Op().String(), kids: operands(n)}
	d.rows, d.cols = matrixOf(n.Shape())
	for _, kid := range d.kids {
		d.in = append(d.in, c.values[kid])
	}
	if isSize(n.Op()) {
		return c.size(&d)
	}
	if err := new(value).typed(n); err != nil {
		return nil, err
	}
	if v := c.known(&d); v != nil {
		return v, nil
	}
	return c.onHost(&d)
}

// constant is a node that is not computed: what it holds now.
func (c *compiler) constant(n *gorgonia.Node) (*value, error) {
	v := newValue(n)
	switch x := n.Value().(type) {
	case nil:
		return nil, fmt.Errorf("node %q is no input and no param, and has no value", n.Name())
	case *gorgonia.F32:
		return c.all(float32(*x), 1, 1), nil
	case *tensor.Dense:
		if data, ok := x.Data().([]float32); ok {
			return c.constantTensor(v, data), nil
		}
		if number, ok := x.Data().(float32); ok {
			return c.all(number, v.rows, v.cols), nil
		}
	}
	v.source, v.fixed = fixed, n.Value()
	return v, nil
}

func (c *compiler) constantTensor(v *value, data []float32) *value {
	if same(data) {
		return c.all(data[0], v.rows, v.cols)
	}
	v.source, v.data = bound, data
	return c.number(v)
}

func same(data []float32) bool {
	for _, x := range data {
		if x != data[0] {
			return false
		}
	}
	return len(data) > 0
}

// size is a SizeOf: how long an axis is. Its String says so, where Gorgonia knew it when the
// expression was written.
func (c *compiler) size(d *node) (*value, error) {
	n := 0
	if _, err := fmt.Sscanf(d.says, "SizeOf=%d", &n); err != nil {
		return nil, fmt.Errorf("node %q: a size that is not known", d.says)
	}
	switch d.Dtype() {
	case tensor.Float32:
		return c.all(float32(n), 1, 1), nil
	case tensor.Int:
		v := newValue(d.Node)
		v.source, v.fixed = fixed, gorgonia.NewI(n)
		return v, nil
	}
	return nil, fmt.Errorf("node %q is %v: a plan has float32, and int for ids", d.says, d.Dtype())
}
