package nn

import "fmt"

// Types checks the graph and returns the type of every input and node by name. It fails on an
// unknown op, a name used twice or before it is computed, an output's name that another has, and
// kinds or shapes that don't match.
func (g *Graph) Types() (map[string]Type, error) {
	c := checker{types: map[string]Type{}, params: map[string]*Param{}}
	for i := range g.Params {
		if err := c.param(&g.Params[i]); err != nil {
			return nil, err
		}
	}
	for _, in := range g.Inputs {
		if in.Width < 1 {
			return nil, fmt.Errorf("input %q: width %d, expected at least 1", in.Name, in.Width)
		}
		if err := c.define(in.Name, Type{in.Kind, in.Width}); err != nil {
			return nil, err
		}
	}
	for i := range g.Nodes {
		if err := c.node(&g.Nodes[i]); err != nil {
			return nil, err
		}
	}
	given := map[string]bool{}
	for _, out := range g.Outputs {
		if given[out.Name] || out.Name == "" {
			return nil, fmt.Errorf("output %q: the name is empty or given twice", out.Name)
		}
		given[out.Name] = true
		if err := c.output(out); err != nil {
			return nil, err
		}
	}
	return c.types, nil
}

type checker struct {
	types  map[string]Type
	params map[string]*Param
}

func (c *checker) param(p *Param) error {
	n := 1
	for _, d := range p.Shape {
		n *= d
	}
	if n != len(p.Values) || len(p.Shape) == 0 {
		return fmt.Errorf("param %q: %d values for shape %v", p.Name, len(p.Values), p.Shape)
	}
	if c.params[p.Name] != nil {
		return fmt.Errorf("param %q is defined twice", p.Name)
	}
	c.params[p.Name] = p
	return nil
}

func (c *checker) define(name string, t Type) error {
	_, twice := c.types[name]
	if twice || name == "" || c.params[name] != nil {
		return fmt.Errorf("name %q is empty or defined twice", name)
	}
	c.types[name] = t
	return nil
}

func (c *checker) node(n *Node) error {
	t, err := c.infer(n)
	if err != nil {
		return fmt.Errorf("node %q, %s: %w", n.Name, n.Op, err)
	}
	return c.define(n.Name, t)
}

func (c *checker) output(out Output) error {
	t, ok := c.types[out.Node]
	if !ok {
		return fmt.Errorf("output %q: no node %q", out.Name, out.Node)
	}
	if t.Width != out.Width {
		return fmt.Errorf("output %q: width %d, but node %q is %s", out.Name, out.Width, out.Node, t)
	}
	return nil
}

// infer is the type rule of every op.
func (c *checker) infer(n *Node) (Type, error) {
	switch {
	case n.Op.combines():
		return c.combined(n)
	case n.Op.elementwise():
		return c.same(n, Float32)
	}
	switch n.Op {
	case OpMatMul:
		return c.matMul(n)
	case OpAddBias:
		return c.rowParam(n)
	case OpSum, OpMean, OpMax:
		return c.reduced(n)
	case OpSoftmax:
		return c.same(n, Float32)
	case OpSlice:
		return c.slice(n)
	case OpConcat:
		return c.concat(n)
	case OpCast:
		t, err := c.same(n, Int64)
		return Type{Float32, t.Width}, err
	case OpOneHot:
		t, err := c.indexed(n, Int64)
		return Type{Float32, t.Width * n.Attr.Depth}, err
	case OpVocab:
		if n.Attr.Depth != len(n.Attr.Vocabulary)+1 {
			return Type{}, fmt.Errorf("depth %d, expected %d, one more than the vocabulary", n.Attr.Depth, len(n.Attr.Vocabulary)+1)
		}
		fallthrough
	case OpHash:
		t, err := c.indexed(n, String)
		return Type{Int64, t.Width}, err
	case OpClamp:
		return c.indexed(n, Int64)
	case OpEmbed:
		return c.embed(n)
	case OpDropout, OpStandardize:
		return c.trainingOp(n)
	}
	return c.chosen(n)
}

// in returns the type of the i-th operand, which must be of that kind.
func (c *checker) in(n *Node, i int, kind ValueKind) (Type, error) {
	if i >= len(n.In) {
		return Type{}, fmt.Errorf("%d operands, expected more", len(n.In))
	}
	t, ok := c.types[n.In[i]]
	if !ok {
		return Type{}, fmt.Errorf("operand %q is not computed before", n.In[i])
	}
	if t.Kind != kind {
		return Type{}, fmt.Errorf("operand %q is %s, expected %s", n.In[i], t, kind)
	}
	return t, nil
}

// withParam returns the type of operand 0 and the shape of the param that is operand 1.
func (c *checker) withParam(n *Node, kind ValueKind, rank int) (Type, []int, error) {
	t, err := c.in(n, 0, kind)
	if err != nil {
		return Type{}, nil, err
	}
	if len(n.In) != 2 || c.params[n.In[1]] == nil {
		return Type{}, nil, fmt.Errorf("operands %q, expected a value and a param", n.In)
	}
	p := c.params[n.In[1]]
	if len(p.Shape) != rank {
		return Type{}, nil, fmt.Errorf("param %q has shape %v, expected rank %d", p.Name, p.Shape, rank)
	}
	return t, p.Shape, nil
}

// indexed is the rule of ops over indices, which need a depth.
func (c *checker) indexed(n *Node, kind ValueKind) (Type, error) {
	if n.Attr.Depth < 1 {
		return Type{}, fmt.Errorf("depth %d, expected at least 1", n.Attr.Depth)
	}
	return c.same(n, kind)
}

// same is the rule of ops on one operand of that kind, whose type is also their result's.
func (c *checker) same(n *Node, kind ValueKind) (Type, error) {
	if len(n.In) != 1 {
		return Type{}, fmt.Errorf("%d operands, expected 1", len(n.In))
	}
	return c.in(n, 0, kind)
}
