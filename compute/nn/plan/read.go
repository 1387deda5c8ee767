package plan

import (
	"fmt"

	"gorgonia.org/gorgonia"
	"gorgonia.org/tensor"
)

// node is one node of an expression, with the values of its operands.
type node struct {
	*gorgonia.Node
	op   string // name of the type of its op, because the types are not exported
	says string // its op's String
	in   []*value
	kids gorgonia.Nodes

	rows, cols int
}

// valueOf returns the value of n, made from those of its operands; without recursion, because
// expressions can be deep.
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

// operands returns the nodes that n is computed from, in order. A size is known, so it needs none;
// nor does a constant, which several expressions may share.
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

// constant returns a node that is not computed: its present value.
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

// size returns the value of a SizeOf: the length of an axis. Its String contains it, if Gorgonia
// knew it when the expression was written.
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

// Expression is the input of Compile: nodes of one Gorgonia graph.
type Expression struct {
	Cost   *gorgonia.Node // a scalar of float32
	Params gorgonia.Nodes // with values, in whose memory the plan computes
	// d Cost / d Params, as gorgonia.Grad returns them; nil is a gradient of zeros
	Grads gorgonia.Nodes
	// Named nodes without an op, of float32 or int, that are fed before each step.
	Inputs  gorgonia.Nodes
	Outputs map[string]*gorgonia.Node // besides Cost: values that can be read after a step
}

// Compile makes a Plan that computes e as Gorgonia's TapeMachine does, except for the order of
// sums.
//
// Nodes that Cost, Grads and Outputs don't need are dropped. A node that is neither computed nor
// among Inputs or Params must have a value, and is a constant with the value that it has when
// Compile reads it. Everything is float32, or int for ids: a needed node of another type, float64
// or bool, is an error that names it. An operation that Compile does not know is OnHost: its own Do
// is called, over tensors that are created once.
//
// Compile reads the nodes, and Gorgonia's expressions share some of them: no other expression may
// be written meanwhile.
func Compile(e Expression) (*Plan, error) {
	c := newCompiler()
	roots, err := c.read(e)
	if err != nil {
		return nil, fmt.Errorf("compile plan: %w", err)
	}
	c.fuse(roots)
	return c.emit(roots), nil
}

// roots are the values that a plan is made for.
type roots struct {
	loss    *value   // nil in a forward pass
	grads   []*value // nil for zeros
	sizes   []int    // of the params
	outputs map[string]*value
}

// all returns every root, the loss first.
func (r *roots) all() []*value {
	all := make([]*value, 0, 1+len(r.outputs)+len(r.grads))
	if r.loss != nil {
		all = append(all, r.loss)
	}
	for _, name := range sortedKeys(r.outputs) {
		all = append(all, r.outputs[name])
	}
	for _, g := range r.grads {
		if g != nil {
			all = append(all, g)
		}
	}
	return all
}

// read makes values of all nodes that e needs.
func (c *compiler) read(e Expression) (*roots, error) {
	if len(e.Grads) != len(e.Params) {
		return nil, fmt.Errorf("%d gradients for %d params", len(e.Grads), len(e.Params))
	}
	if err := c.leaves(e); err != nil {
		return nil, err
	}
	r := &roots{outputs: map[string]*value{}}
	var err error
	if r.loss, err = c.valueOf(e.Cost); err != nil {
		return nil, err
	}
	if r.loss.len() != 1 || r.loss.kind != Float {
		return nil, fmt.Errorf("the cost has shape %v, expected one float32", e.Cost.Shape())
	}
	for i, n := range e.Grads {
		g, err := c.gradient(e.Params[i], n)
		if err != nil {
			return nil, err
		}
		r.grads = append(r.grads, g)
		r.sizes = append(r.sizes, e.Params[i].Shape().TotalSize())
	}
	for _, name := range sortedKeys(e.Outputs) {
		if r.outputs[name], err = c.valueOf(e.Outputs[name]); err != nil {
			return nil, fmt.Errorf("output %q: %w", name, err)
		}
	}
	return r, nil
}

func (c *compiler) gradient(param, grad *gorgonia.Node) (*value, error) {
	if grad == nil {
		return nil, nil
	}
	g, err := c.valueOf(grad)
	if err != nil {
		return nil, fmt.Errorf("gradient of %q: %w", param.Name(), err)
	}
	if want := param.Shape().TotalSize(); g.len() != want || g.kind != Float {
		return nil, fmt.Errorf("gradient of %q has shape %v, expected %v", param.Name(), grad.Shape(), param.Shape())
	}
	return g, nil
}

// leaves adds the inputs and params.
func (c *compiler) leaves(e Expression) error {
	named := map[string]bool{}
	for _, n := range e.Inputs {
		if n.Op() != nil || n.Name() == "" || named[n.Name()] {
			return fmt.Errorf("input %q is computed, has no name, or one that another has", n.Name())
		}
		named[n.Name()] = true
		v := newValue(n)
		v.source = input
		if err := v.typed(n); err != nil {
			return err
		}
		c.values[n] = v
		c.inputs = append(c.inputs, v)
	}
	for _, n := range e.Params {
		data, err := floatsOf(n)
		if err != nil {
			return fmt.Errorf("param %q: %w", n.Name(), err)
		}
		v := newValue(n)
		v.source, v.data, v.param = bound, data, true
		c.values[n] = v
	}
	return nil
}

// floatsOf returns the memory of a node's value.
func floatsOf(n *gorgonia.Node) ([]float32, error) {
	t, ok := n.Value().(*tensor.Dense)
	if !ok {
		return nil, fmt.Errorf("has no value that is a tensor")
	}
	data, ok := t.Data().([]float32)
	if !ok || len(data) != n.Shape().TotalSize() {
		return nil, fmt.Errorf("is %v of shape %v, expected float32", t.Dtype(), t.Shape())
	}
	return data, nil
}

// Lowered is an operation of ours in a Gorgonia expression: it returns its instruction, over the
// operands that it has in the expression, in their order. For Dropout, only the shape of the
// operand counts.
type Lowered interface {
	gorgonia.Op
	Lower() (Op, Attr)
}
