package nn

import "fmt"

// Eval computes the outputs of g by kernels, without Gorgonia, for any number of rows: what a served model would answer, and the oracle for
// Gorgonia. It is Evaluator for one call.
func Eval(g *Graph, inputs map[string]Value) (map[string]Value, error) {
	e, err := NewEvaluator(g)
	if err != nil {
		return nil, err
	}
	if err := e.Run(inputs); err != nil {
		return nil, err
	}
	out := make(map[string]Value, len(g.Outputs))
	for _, o := range g.Outputs {
		out[o.Name] = e.values[e.slots[o.Node]]
	}
	return out, nil
}

// Evaluator computes a Graph again and again, keeping its buffers. It reads the params where they are, so it follows a
// training. Not for concurrent use.
type Evaluator struct {
	inputs []Input
	steps  []step
	slots  map[string]int
	types  []Type
	values []Value
	rows   int
}

// step is one node made ready: operands by slot, param and vocabulary found.
type step struct {
	node   *Node
	kernel stepFunc
	in     []*Value
	out    *Value
	param  *Param
	vocab  map[string]int64
	sparse bool // of a product: its rows are mostly zeros
}

// stepFunc computes s.out, already of the right size, from s.in.
type stepFunc func(s *step, rows int) error

// NewEvaluator checks g and makes it ready.
func NewEvaluator(g *Graph) (*Evaluator, error) {
	types, err := g.Types()
	if err != nil {
		return nil, fmt.Errorf("graph: %w", err)
	}
	n := len(g.Inputs) + len(g.Nodes)
	e := &Evaluator{inputs: g.Inputs, slots: make(map[string]int, n), types: make([]Type, 0, n), values: make([]Value, n)}
	for _, in := range g.Inputs {
		e.define(in.Name, types)
	}
	params, nodes := g.params(), g.nodes()
	for i := range g.Nodes {
		e.steps = append(e.steps, e.bind(&g.Nodes[i], params))
		e.steps[i].sparse = g.Nodes[i].Op == OpMatMul && MostlyZeros(blocksOf(g.Nodes[i].In[0], nodes, types, nil))
		e.steps[i].out = &e.values[e.define(g.Nodes[i].Name, types)]
	}
	return e, nil
}

func (g *Graph) params() map[string]*Param {
	m := make(map[string]*Param, len(g.Params))
	for i := range g.Params {
		m[g.Params[i].Name] = &g.Params[i]
	}
	return m
}

func (g *Graph) nodes() map[string]*Node {
	m := make(map[string]*Node, len(g.Nodes))
	for i := range g.Nodes {
		m[g.Nodes[i].Name] = &g.Nodes[i]
	}
	return m
}

func (e *Evaluator) define(name string, types map[string]Type) int {
	slot := len(e.types)
	e.slots[name] = slot
	e.types = append(e.types, types[name])
	return slot
}

func (e *Evaluator) bind(n *Node, params map[string]*Param) step {
	s := step{node: n, kernel: kernelOf(n)}
	for _, name := range n.In {
		if p := params[name]; p != nil {
			s.param = p
			continue
		}
		s.in = append(s.in, &e.values[e.slots[name]])
	}
	if n.Op == OpVocab {
		s.vocab = vocabIndex(n.Attr.Vocabulary)
	}
	return s
}

// Run computes every node for the rows in inputs. Inputs that the graph doesn't know are ignored.
func (e *Evaluator) Run(inputs map[string]Value) error {
	if err := e.feed(inputs); err != nil {
		return err
	}
	for i := range e.steps {
		s := &e.steps[i]
		s.out.grow(e.types[len(e.inputs)+i], e.rows)
		if err := s.kernel(s, e.rows); err != nil {
			return fmt.Errorf("node %q, %s: %w", s.node.Name, s.node.Op, err)
		}
	}
	return nil
}

func (e *Evaluator) feed(inputs map[string]Value) error {
	e.rows = 0
	for i, in := range e.inputs {
		v, ok := inputs[in.Name]
		if !ok {
			return fmt.Errorf("input %q is missing", in.Name)
		}
		if i == 0 {
			e.rows = v.len() / in.Width
		}
		if err := v.fits(e.types[i], e.rows); err != nil {
			return fmt.Errorf("input %q: %w", in.Name, err)
		}
		e.values[i] = v
	}
	return nil
}

// Rows is the number of rows of the last Run.
func (e *Evaluator) Rows() int { return e.rows }

// Value is an input or a node's value in the last Run, valid until the next. A name the graph lacks gives the zero Value.
func (e *Evaluator) Value(name string) Value {
	slot, ok := e.slots[name]
	if !ok {
		return Value{}
	}
	return e.values[slot]
}
