package nn

import (
	"fmt"

	"github.com/stoker-ml/stoker/compute/kernel"
	"github.com/stoker-ml/stoker/compute/nn/plan"
)

// writer writes a graph as a plan.Forward.
type writer struct {
	*plan.Forward
	evaluator *Evaluator
	params    map[string]*Param
	operands  map[string]plan.Operand
}

// compile makes the plan for batches of up to so many rows.
func (e *Evaluator) compile(batch int) *plan.Plan {
	w := writer{Forward: plan.NewForward(batch), evaluator: e, params: e.graph.params(), operands: map[string]plan.Operand{}}
	for _, in := range e.graph.Inputs {
		w.operands[in.Name] = w.Input(in.Name, planKinds[in.Kind], in.Width)
	}
	for i := range e.graph.Nodes {
		n := &e.graph.Nodes[i]
		w.operands[n.Name] = w.node(n)
	}
	for _, k := range e.kept {
		w.Keep(k.name, w.operands[k.name])
	}
	return w.Plan()
}

var planKinds = [...]plan.Kind{Float32: plan.Float, Int64: plan.Int, String: plan.String}

// node writes one node, whose operands are already written.
func (w *writer) node(n *Node) plan.Operand {
	width := w.width(n.Name)
	if h := w.evaluator.hosts[n.Name]; h != nil {
		return w.OnHost(n.Name, h, planKinds[w.evaluator.types[n.Name].Kind], width, w.in(n.In)...)
	}
	if f, ok := n.Op.Binary(); ok {
		second, shape := w.second(n)
		return w.Do(n.Name, plan.Combine, plan.Attr{Binary: f, Shape: shape}, 1, width, w.operands[n.In[0]], second)
	}
	if f, ok := n.Op.Func(); ok {
		return w.do(n, plan.Map, plan.Attr{Func: f})
	}
	switch n.Op {
	case OpMatMul:
		return w.product(n)
	case OpSoftmax:
		return w.do(n, plan.Softmax, plan.Attr{})
	case OpSum:
		return w.do(n, plan.Reduce, plan.Attr{Axis: plan.Cols})
	case OpMean:
		return w.do(n, plan.Reduce, plan.Attr{Axis: plan.Cols, Scale: 1 / float32(w.width(n.In[0]))})
	case OpMax:
		return w.do(n, plan.ReduceMax, plan.Attr{})
	case OpConcat:
		return w.do(n, plan.Concat, plan.Attr{})
	case OpSlice:
		return w.do(n, plan.Columns, plan.Attr{Start: n.Attr.Start})
	case OpEmbed:
		table := w.param(n.In[1])
		ids := w.width(n.In[0])
		return w.Flat(w.Do(n.Name, plan.Gather, plan.Attr{}, ids, width/ids, table, w.operands[n.In[0]]))
	}
	panic(fmt.Sprintf("nn: no forward pass of %s", n.Op)) // Types has refused unknown ops
}

// do writes an op over the operands of n.
func (w *writer) do(n *Node, op plan.Op, attr plan.Attr) plan.Operand {
	return w.Do(n.Name, op, attr, 1, w.width(n.Name), w.in(n.In)...)
}

func (w *writer) in(names []string) []plan.Operand {
	all := make([]plan.Operand, len(names))
	for i, name := range names {
		all[i] = w.operands[name]
	}
	return all
}

func (w *writer) width(name string) int { return w.evaluator.types[name].Width }

// param returns a matrix; a vector is one row.
func (w *writer) param(name string) plan.Operand {
	p := w.params[name]
	if x, ok := w.operands[name]; ok {
		return x
	}
	rows, cols := 1, p.Shape[len(p.Shape)-1]
	if len(p.Shape) == 2 {
		rows = p.Shape[0]
	}
	w.operands[name] = w.Param(name, p.Values, rows, cols)
	return w.operands[name]
}

// second returns the second operand of a binary op, and how it is broadcast over the first: a param
// is the same for all rows.
func (w *writer) second(n *Node) (plan.Operand, kernel.Shape) {
	width := w.width(n.Name)
	p := w.params[n.In[1]]
	switch {
	case p != nil && len(p.Values) == width:
		return w.param(n.In[1]), kernel.Row
	case p != nil:
		return w.param(n.In[1]), kernel.Scalar
	case w.width(n.In[1]) != width:
		return w.operands[n.In[1]], kernel.Column
	}
	return w.operands[n.In[1]], kernel.Full
}

// product is rows times a matrix. Rows that are mostly zeros are multiplied sparsely.
func (w *writer) product(n *Node) plan.Operand {
	width, matrix := w.width(n.Name), w.param(n.In[1])
	blocks := w.evaluator.graph.Blocks(n.In[0], w.evaluator.types)
	if !MostlyZeros(blocks) {
		return w.Do(n.Name, plan.Gemm, plan.Attr{}, 1, width, w.operands[n.In[0]], matrix)
	}
	p := &places{blocks: blocks}
	var hot, plain []plan.Operand
	for _, b := range blocks {
		p.perRow += b.Width
		if b.Depth > 0 {
			hot = append(hot, w.operands[b.Name])
		} else {
			plain = append(plain, w.operands[b.Name])
		}
	}
	at := w.OnHost(n.Name, placeIDs{p}, plan.Int, p.perRow, hot...)
	values := w.OnHost(n.Name, placeValues{p}, plan.Float, p.perRow, plain...)
	return w.Do(n.Name, plan.Sparse, plan.Attr{}, 1, width, values, at, matrix)
}

// places are the elements of rows that may be nonzero, the same number in each row.
type places struct {
	blocks []Block
	perRow int
}

// placeIDs computes the column of each place, -1 for an id outside of its depth. Its operands are
// the blocks of ids.
type placeIDs struct{ *places }

// Name implements plan.Host.
func (placeIDs) Name() string { return "columns of a sparse matrix" }

// Do implements plan.Host.
func (p placeIDs) Do(out plan.Slice, in []plan.Slice) error {
	place := 0
	for _, b := range p.blocks {
		if b.Depth == 0 {
			for at := place; at < len(out.Ints); at += p.perRow {
				for i := range b.Width {
					out.Ints[at+i] = b.At + i
				}
			}
		} else {
			p.hot(out.Ints[place:], b, in[0].Ints)
			in = in[1:]
		}
		place += b.Width
	}
	return nil
}

// hot writes the places of a block of ids.
func (p placeIDs) hot(out []int, b Block, ids []int) {
	for at := 0; len(ids) > 0; at += p.perRow {
		column := b.At
		for i, id := range ids[:b.Width] {
			to := -1
			if uint(id) < uint(b.Depth) {
				to = column + id
			}
			out[at+i] = to
			column += b.Depth
		}
		ids = ids[b.Width:]
	}
}

// placeValues computes the number at each place: 1 for an id. Its operands are the blocks of
// numbers.
type placeValues struct{ *places }

// Name implements plan.Host.
func (placeValues) Name() string { return "numbers of a sparse matrix" }

// Do implements plan.Host.
func (p placeValues) Do(out plan.Slice, in []plan.Slice) error {
	place := 0
	for _, b := range p.blocks {
		if b.Depth > 0 {
			for at := place; at < len(out.Floats); at += p.perRow {
				for i := range b.Width {
					out.Floats[at+i] = 1
				}
			}
		} else {
			numbers := in[0].Floats
			for at := place; len(numbers) > 0; at += p.perRow {
				copy(out.Floats[at:], numbers[:b.Width])
				numbers = numbers[b.Width:]
			}
			in = in[1:]
		}
		place += b.Width
	}
	return nil
}

// Block is a range of adjacent columns of a matrix: one-hot ids, or numbers.
type Block struct {
	Name  string // name of the value: ids, or the numbers themselves
	Depth int    // for ids; 0 for numbers
	Width int    // width of the value
	At    int    // the first column
}

// Columns returns the number of columns of a block.
func (b Block) Columns() int { return b.Width * max(b.Depth, 1) }

// mostlyZeros is the ratio of columns to places from which on a product is computed sparsely:
// looking up a column costs more than a multiplication.
const mostlyZeros = 4

// MostlyZeros reports whether a sparse product is faster for rows that consist of blocks. A place
// is an element that may be nonzero.
func MostlyZeros(blocks []Block) bool {
	places, columns := 0, 0
	for _, b := range blocks {
		places += b.Width
		columns += b.Columns()
	}
	return places > 0 && places*mostlyZeros <= columns
}

// Blocks divides the columns of a value into one-hot ids and numbers, in their order. types are
// those of Types.
func (g *Graph) Blocks(name string, types map[string]Type) []Block {
	return blocksOf(name, g.nodes(), types, nil)
}

func blocksOf(name string, nodes map[string]*Node, types map[string]Type, before []Block) []Block {
	next := 0
	if len(before) > 0 {
		last := before[len(before)-1]
		next = last.At + last.Columns()
	}
	switch n := nodes[name]; {
	case n != nil && n.Op == OpConcat:
		for _, in := range n.In {
			before = blocksOf(in, nodes, types, before)
		}
		return before
	case n != nil && n.Op == OpOneHot:
		return append(before, Block{Name: n.In[0], Depth: n.Attr.Depth, Width: types[n.In[0]].Width, At: next})
	}
	return append(before, Block{Name: name, Width: types[name].Width, At: next})
}
