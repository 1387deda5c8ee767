package plan

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"gorgonia.org/gorgonia"
	"gorgonia.org/tensor"
)

// value is the value of one node of an expression, while a plan is made.
type value struct {
	source source
	kind   Kind
	rows   int
	cols   int
	label  string // of the node, for messages
	name   string // of an input or param

	data   []float32      // if bound
	param  bool           // if bound
	number float32        // if splat
	fixed  gorgonia.Value // of a constant that is not float32, for operations on the host

	op   Op
	attr Attr
	in   []*value
	adds *value // the value to whose memory this one adds; it can't be read afterwards
	seq  int
}

// source is the origin of a value.
type source int

const (
	computed source = iota // by op
	input
	bound // in the memory of others
	splat // a single number everywhere
	view  // in[0], with other rows and columns
	fixed // known when the plan is made, of a kind that no buffer has
)

func (v *value) len() int { return v.rows * v.cols }

func (v *value) is(op Op) bool { return v.source == computed && v.op == op }

// newValue has the label and the rows and columns of a node.
func newValue(n *gorgonia.Node) *value {
	rows, cols := matrixOf(n.Shape())
	return &value{rows: rows, cols: cols, label: labelOf(n), name: n.Name()}
}

func labelOf(n *gorgonia.Node) string {
	if n.Op() == nil {
		return n.Name()
	}
	return n.Op().String()
}

// matrixOf returns how a shape is laid out in memory: a vector is one row, and with more than two
// axes all but the last are rows.
func matrixOf(s tensor.Shape) (rows, cols int) {
	if s.Dims() == 0 {
		return 1, 1
	}
	cols = s[s.Dims()-1]
	if cols == 0 {
		return 0, 0
	}
	return s.TotalSize() / cols, cols
}

// typed sets the kind for n's type.
func (v *value) typed(n *gorgonia.Node) error {
	switch n.Dtype() {
	case tensor.Float32:
		v.kind = Float
	case tensor.Int:
		v.kind = Int
	default:
		return fmt.Errorf("node %q is %v: a plan has float32, and int for ids", labelOf(n), n.Dtype())
	}
	return nil
}

// compiler makes values of nodes.
type compiler struct {
	values map[*gorgonia.Node]*value
	same   map[string]*value // by what computes them, so that equal values are computed once
	ids    map[*value]int
	inputs []*value
	seq    int
}

func newCompiler() *compiler {
	return &compiler{values: map[*gorgonia.Node]*value{}, same: map[string]*value{}, ids: map[*value]int{}}
}

// make returns the value that op computes from its operands, or the existing one that is equal.
func (c *compiler) make(label string, op Op, attr Attr, rows, cols int, in ...*value) *value {
	v := &value{op: op, attr: attr, rows: rows, cols: cols, in: in, label: label}
	return c.intern(v)
}

func (c *compiler) intern(v *value) *value {
	if v.attr.Host != nil { // it may have state: never the same twice
		return c.number(v)
	}
	key := c.key(v)
	if there := c.same[key]; there != nil {
		return there
	}
	c.same[key] = v
	return c.number(v)
}

func (c *compiler) key(v *value) string {
	var b strings.Builder
	fmt.Fprint(&b, v.source, v.op, v.rows, v.cols, v.number, " ", v.attr)
	for _, x := range v.in {
		fmt.Fprint(&b, " ", c.id(x))
	}
	return b.String()
}

func (c *compiler) number(v *value) *value {
	c.seq++
	v.seq = c.seq
	return v
}

func (c *compiler) id(v *value) int {
	if _, ok := c.ids[v]; !ok {
		c.ids[v] = len(c.ids)
	}
	return c.ids[v]
}

// all is a single number everywhere.
func (c *compiler) all(number float32, rows, cols int) *value {
	return c.intern(&value{source: splat, number: number, rows: rows, cols: cols, label: fmt.Sprintf("const %g", number)})
}

// reshaped is x with other rows and columns.
func (c *compiler) reshaped(x *value, rows, cols int) *value {
	switch {
	case x.rows == rows && x.cols == cols:
		return x
	case x.source == splat:
		return c.all(x.number, rows, cols)
	case x.source == view:
		return c.reshaped(x.in[0], rows, cols)
	case x.source == bound:
		return c.part(x, 0, rows, cols)
	case x.is(Repeat) && x.in[0].len() == 1:
		return c.repeat(x.in[0], rows, cols)
	}
	return c.intern(&value{source: view, kind: x.kind, rows: rows, cols: cols, in: []*value{x}, label: x.label, name: x.name})
}

// part is some adjacent elements of memory that is not the plan's.
func (c *compiler) part(x *value, from, rows, cols int) *value {
	key := fmt.Sprint("part ", c.id(x), from, " ", rows, " ", cols)
	if there := c.same[key]; there != nil {
		return there
	}
	v := &value{source: bound, data: x.data[from : from+rows*cols], param: x.param, rows: rows, cols: cols, label: x.label, name: x.name}
	c.same[key] = v
	return c.number(v)
}

func sortedKeys[T any](m map[string]T) []string { return slices.Sorted(maps.Keys(m)) }
