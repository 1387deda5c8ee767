package nn

import (
	"errors"
	"fmt"

	"github.com/stoker-ml/stoker/compute/nn/plan"
)

// Eval computes the outputs of g for any number of rows, as a served model answers. It is an
// Evaluator for one call.
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
		out[o.Name] = e.Value(o.Node)
	}
	return out, nil
}

// Evaluator computes the forward pass of a Graph repeatedly: it compiles a plan.Forward, again for
// more rows when a batch has more, and allocates nothing else after the first Run. It reads the
// values of params in place, so it follows a training; NewModel moves them, and must be called
// before. It is for one goroutine at a time.
type Evaluator struct {
	graph  *Graph
	types  map[string]Type
	hosts  map[string]*host // by node
	kept   []kept
	index  map[string]int // of kept, by name
	inputs map[string]Value
	runner *plan.Runner
	plan   *plan.Plan
	rows   int
}

// kept is a node whose value can be read after a Run.
type kept struct {
	name   string
	value  Value
	buffer int
	ready  bool // value.Ints are those of the last Run
}

// NewEvaluator checks g and prepares it. After a Run the Evaluator has the values of inputs, of the
// nodes that outputs name, and of the nodes in keep; it does not compute nodes that these don't
// need.
func NewEvaluator(g *Graph, keep ...string) (*Evaluator, error) {
	types, err := g.Types()
	if err != nil {
		return nil, fmt.Errorf("graph: %w", err)
	}
	e := &Evaluator{graph: g, types: types, hosts: map[string]*host{}, index: map[string]int{}}
	for i := range g.Nodes {
		if h := newHost(&g.Nodes[i], types); h != nil {
			e.hosts[h.node.Name] = h
		}
	}
	inputs := map[string]bool{}
	for _, in := range g.Inputs {
		inputs[in.Name] = true
	}
	for _, o := range g.Outputs {
		keep = append(keep[:len(keep):len(keep)], o.Node)
	}
	for _, name := range keep {
		t, ok := types[name]
		if !ok {
			return nil, fmt.Errorf("graph: no node %q", name)
		}
		if _, twice := e.index[name]; !twice && !inputs[name] {
			e.index[name] = len(e.kept)
			e.kept = append(e.kept, kept{name: name, value: Value{Kind: t.Kind, Width: t.Width}})
		}
	}
	return e, nil
}

// Run computes the kept nodes for the rows in inputs, which must not change while values are read.
// Inputs that the graph doesn't have are ignored. An error about a single row is a *RowError.
func (e *Evaluator) Run(inputs map[string]Value) error {
	rows, err := e.check(inputs)
	if err != nil {
		return err
	}
	e.inputs = inputs
	if e.runner == nil || rows > e.plan.Batch {
		e.plan = e.compile(max(rows, 1))
		e.runner, e.rows = plan.NewRunner(e.plan), 0
		for i := range e.kept {
			e.kept[i].buffer = e.plan.Outputs[e.kept[i].name]
		}
	}
	if rows != e.rows {
		e.runner.Resize(rows)
		e.rows = rows
	}
	for _, in := range e.graph.Inputs {
		e.feed(e.plan.Inputs[in.Name], inputs[in.Name])
	}
	if err := e.runner.Run(); err != nil {
		return e.located(err)
	}
	for i := range e.kept {
		e.kept[i].read(e.runner)
	}
	return nil
}

// check returns the number of rows, which must be the same for all inputs.
func (e *Evaluator) check(inputs map[string]Value) (rows int, err error) {
	for i, in := range e.graph.Inputs {
		v, ok := inputs[in.Name]
		if !ok {
			return 0, fmt.Errorf("input %q is missing", in.Name)
		}
		if i == 0 {
			rows = v.len() / in.Width
		}
		if err := v.fits(Type{in.Kind, in.Width}, rows); err != nil {
			return 0, fmt.Errorf("input %q: %w", in.Name, err)
		}
	}
	return rows, nil
}

// feed copies an input into the memory of the plan.
func (e *Evaluator) feed(buffer int, v Value) {
	switch v.Kind {
	case Int64:
		ids := e.runner.Ints(buffer)
		for i, id := range v.Ints {
			ids[i] = int(id)
		}
	case String:
		copy(e.runner.Strings(buffer), v.Strings)
	default:
		copy(e.runner.Floats(buffer), v.Floats)
	}
}

// located names the row of an id that a table lacks.
func (e *Evaluator) located(err error) error {
	bad, ok := errors.AsType[*plan.IndexError](err)
	if !ok {
		return err
	}
	n := e.graph.nodes()[bad.Node]
	return outside(n, e.types[n.In[0]].Width, bad.At, int64(bad.ID), bad.Rows)
}

func (k *kept) read(r *plan.Runner) {
	k.ready = false
	switch k.value.Kind {
	case Float32:
		k.value.Floats = r.Floats(k.buffer)
	case String:
		k.value.Strings = r.Strings(k.buffer)
	}
}

// Rows returns the number of rows of the last Run.
func (e *Evaluator) Rows() int { return e.rows }

// Value returns the value of an input or of a kept node in the last Run, valid until the next. For
// other names it returns the zero Value.
func (e *Evaluator) Value(name string) Value {
	i, ok := e.index[name]
	if !ok {
		return e.inputs[name]
	}
	k := &e.kept[i]
	if k.value.Kind == Int64 && !k.ready && e.runner != nil {
		ids := e.runner.Ints(k.buffer)
		k.value.Ints = resize(k.value.Ints, len(ids))
		for j, id := range ids {
			k.value.Ints[j] = int64(id)
		}
		k.ready = true
	}
	return k.value
}

// NodeNames returns the names of all nodes, in their order: NewEvaluator must keep a node for its
// value to be read.
func (g *Graph) NodeNames() []string {
	names := make([]string, len(g.Nodes))
	for i, n := range g.Nodes {
		names[i] = n.Name
	}
	return names
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
