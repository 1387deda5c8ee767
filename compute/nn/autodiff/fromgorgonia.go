package autodiff

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"gorgonia.org/gorgonia"
	"gorgonia.org/tensor"

	"github.com/stoker-ml/stoker/compute/nn"
)

// FromGorgonia converts a Gorgonia expression to a Graph, so that a model written with Gorgonia can
// be exported like any other.
//
// An input is a float matrix [batch, width], a float vector [batch], or for indices a vector of
// ints [batch*width], all of one batch; its name is its node's. Outputs, by name, are expressions
// of them, [batch, width] or [batch]. All other leaves are params and must have their values bound;
// they become the Graph's own copies, rounded to float32. Operations for training are converted as
// in prediction: Dropout is left out.
//
// It supports products with a matrix of params; +, -, ⊙ and ÷ with their Broadcast forms;
// MaxBetween and MinBetween; Rectify and LeakyRelu; Softmax and LogSoftMax along the rows; Sum,
// Mean, Max, Slice and Concat along axis 1; ByIndices of params; Reshape and Transpose if rows stay
// rows; and functions of each element. Any other op is an error that names it.
func FromGorgonia(inputs gorgonia.Nodes, outputs map[string]*gorgonia.Node) (*nn.Graph, error) {
	r := &reading{done: map[*gorgonia.Node]operand{}, names: map[string]bool{}}
	if err := r.inputs(inputs); err != nil {
		return nil, fmt.Errorf("from gorgonia: %w", err)
	}
	for _, name := range slices.Sorted(maps.Keys(outputs)) {
		if err := r.output(name, outputs[name]); err != nil {
			return nil, fmt.Errorf("from gorgonia: output %q: %w", name, err)
		}
	}
	if _, err := r.graph.Types(); err != nil {
		return nil, fmt.Errorf("from gorgonia: %w", err)
	}
	return &r.graph, nil
}

// reading is an expression that is being converted.
type reading struct {
	graph nn.Graph
	batch int
	done  map[*gorgonia.Node]operand
	names map[string]bool
}

// operand is the meaning of a Gorgonia node: rows of the batch, or numbers that are the same for
// all of them.
type operand struct {
	name  string // for rows: the input or node of the graph; for numbers: "" until they are a param
	width int    // for rows; 0 for numbers
	flat  int    // for indices that were looked up and not yet reshaped: how many a row has

	repeated int // for rows of width 1: how often each number is repeated in its row; 0 for once

	comparison string // for ">" and the like, which are only supported in x ⊙ (x > 0)

	shape     []int // for numbers: [] for a scalar
	values    []float32
	trainable bool
	leaf      string // for numbers: the name of their node
}

func (o operand) rows() bool { return o.width > 0 }

func (r *reading) inputs(inputs gorgonia.Nodes) error {
	for _, n := range inputs {
		if shape := n.Shape(); r.batch == 0 && len(shape) > 0 && n.Dtype() != tensor.Int {
			r.batch = shape[0]
		}
	}
	for _, n := range inputs {
		in, err := r.input(n)
		if err != nil {
			return fmt.Errorf("input %q, %v: %w", n.Name(), n.Shape(), err)
		}
		r.graph.Inputs = append(r.graph.Inputs, in)
		r.names[in.Name] = true
		r.done[n] = operand{name: in.Name, width: in.Width}
	}
	return nil
}

func (r *reading) input(n *gorgonia.Node) (nn.Input, error) {
	shape := n.Shape()
	if r.batch == 0 && len(shape) > 0 {
		r.batch = shape[0] // there are only indices, one a row
	}
	switch {
	case !n.IsVar() || r.names[n.Name()]:
		return nn.Input{}, fmt.Errorf("expected a leaf with a name of its own")
	case n.Dtype() == tensor.Int && len(shape) == 1 && shape[0] > 0 && shape[0]%r.batch == 0:
		return nn.Input{Name: n.Name(), Kind: nn.Int64, Width: shape[0] / r.batch}, nil
	case n.Dtype() != tensor.Float32 && n.Dtype() != tensor.Float64:
		return nn.Input{}, fmt.Errorf("type %v, expected floats, or a vector of ints", n.Dtype())
	case len(shape) == 1 && shape[0] == r.batch:
		return nn.Input{Name: n.Name(), Width: 1}, nil
	case len(shape) == 2 && shape[0] == r.batch && shape[1] > 0:
		return nn.Input{Name: n.Name(), Width: shape[1]}, nil
	}
	return nn.Input{}, fmt.Errorf("expected %d rows", r.batch)
}

func (r *reading) output(name string, n *gorgonia.Node) error {
	if n == nil {
		return fmt.Errorf("no expression")
	}
	o, err := r.read(n)
	if err != nil {
		return err
	}
	o = r.wide(o)
	if !o.rows() || o.flat > 1 {
		return fmt.Errorf("expected one row for each row of the inputs, got shape %v", n.Shape())
	}
	r.graph.Outputs = append(r.graph.Outputs, nn.Output{Name: name, Node: o.name, Width: o.width})
	return nil
}

// read converts a node, after all nodes that it needs.
func (r *reading) read(n *gorgonia.Node) (operand, error) {
	if o, ok := r.done[n]; ok {
		return o, nil
	}
	o, err := r.readNew(n)
	if err == nil {
		r.done[n] = o
	}
	return o, err
}

func (r *reading) readNew(n *gorgonia.Node) (operand, error) {
	children := operandsOf(n)
	if len(children) == 0 {
		return readNumbers(n)
	}
	in := make([]operand, len(children))
	for i, child := range children {
		if sizes := i > 0 && strings.HasPrefix(fmt.Sprint(n.Op()), "Repeat"); sizes {
			break
		}
		var err error
		if in[i], err = r.read(child); err != nil {
			return operand{}, err
		}
	}
	o, err := r.op(n, children, in)
	if err != nil {
		return operand{}, fmt.Errorf("op %v of shape %v: %w", n.Op(), n.Shape(), err)
	}
	return o, nil
}

// operandsOf returns the nodes that n is computed from, in their order.
func operandsOf(n *gorgonia.Node) gorgonia.Nodes {
	var all gorgonia.Nodes
	for it := n.Graph().From(n.ID()); it != nil && it.Next(); {
		all = append(all, it.Node().(*gorgonia.Node))
	}
	return all
}

// readNumbers converts a leaf that is not an input: a param, or a constant.
func readNumbers(n *gorgonia.Node) (operand, error) {
	if n.Value() == nil {
		return operand{}, fmt.Errorf("leaf %q is no input and has no value", n.Name())
	}
	o := operand{shape: slices.Clone(n.Value().Shape()), trainable: n.IsVar(), leaf: n.Name()}
	switch values := n.Value().Data().(type) {
	case []float32:
		o.values = slices.Clone(values)
	case []float64:
		o.values = rounded(values)
	case float32:
		o.values = []float32{values}
	case float64:
		o.values = []float32{float32(values)}
	default:
		return operand{}, fmt.Errorf("leaf %q holds %T, expected floats", n.Name(), values)
	}
	if t, ok := n.Value().(tensor.Tensor); ok && t.RequiresIterator() {
		return operand{}, fmt.Errorf("leaf %q is a view of another tensor, expected one of its own", n.Name())
	}
	return o, nil
}

func rounded(values []float64) []float32 {
	all := make([]float32, len(values))
	for i, v := range values {
		all[i] = float32(v)
	}
	return all
}

// node adds a node to the graph.
func (r *reading) node(op nn.Op, width int, attr nn.Attr, in ...string) operand {
	name := r.unused(string(op))
	r.graph.Nodes = append(r.graph.Nodes, nn.Node{Name: name, Op: op, In: in, Attr: attr})
	return operand{name: name, width: width}
}

// param adds numbers to the graph, in a shape.
func (r *reading) param(o operand, shape ...int) string {
	name := r.unused(o.leaf)
	r.graph.Params = append(r.graph.Params, nn.Param{Name: name, Shape: shape, Values: o.values, Trainable: o.trainable})
	return name
}

// unused returns a name that is not used yet, as similar to the wanted one as possible.
func (r *reading) unused(name string) string {
	for i, wanted := 1, name; r.names[name]; i++ {
		name = fmt.Sprintf("%s_%d", wanted, i)
	}
	r.names[name] = true
	return name
}
