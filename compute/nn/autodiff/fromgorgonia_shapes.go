package autodiff

import (
	"fmt"
	"slices"
	"strings"

	"gorgonia.org/gorgonia"

	"github.com/stoker-ml/stoker/compute/nn"
)

// shaped converts an op that changes shapes, or works along one axis. ok is false for other ops.
func (r *reading) shaped(n *gorgonia.Node, in []operand) (o operand, ok bool, err error) {
	text := fmt.Sprint(n.Op())
	for prefix, read := range map[string]func(string, *gorgonia.Node, []operand) (operand, error){
		"Repeat": r.repeated, "Reshape": r.reshaped, "Aᵀ{": r.transpose, "T[": r.sliced, "Concat(": r.joined,
		"Σ": r.along(nn.OpSum), "MaxAlong": r.along(nn.OpMax), "Softmax{": r.softmax, "ByIndices": r.lookedUp,
	} {
		if strings.HasPrefix(text, prefix) {
			o, err = read(text, n, in)
			return o, true, err
		}
	}
	return operand{}, false, nil
}

// repeated converts Gorgonia's broadcast. Here an op on two operands repeats the narrower one by
// itself.
func (r *reading) repeated(op string, n *gorgonia.Node, in []operand) (operand, error) {
	x, shape := in[0], n.Shape()
	switch {
	case x.rows() && op == "Repeat1" && x.width == 1 && len(shape) == 2:
		x.repeated = shape[1]
		return x, nil
	case !x.rows() && op == "Repeat0" && (len(x.shape) < 2 || x.shape[0] == 1):
		return x, nil
	case !x.rows() && len(x.values) == 1:
		return x, nil
	}
	return operand{}, fmt.Errorf("expected one number of each row repeated, or one row of params")
}

// wide writes out an operand that is repeated along the rows, for ops that need all of it: x times
// a row of ones.
func (r *reading) wide(x operand) operand {
	if x.repeated == 0 {
		return x
	}
	ones := operand{leaf: "ones", values: slices.Repeat([]float32{1}, x.repeated)}
	return r.node(nn.OpMatMul, x.repeated, nn.Attr{}, x.name, r.param(ones, 1, x.repeated))
}

func (r *reading) reshaped(_ string, n *gorgonia.Node, in []operand) (operand, error) {
	x, shape := in[0], n.Shape()
	switch {
	case !x.rows():
		x.shape = slices.Clone(shape)
		return x, nil
	case x.flat > 0 && len(shape) == 2 && shape[0] == r.batch && shape[1] == x.width*x.flat:
		x.width, x.flat = x.width*x.flat, 0
		return x, nil
	case x.flat == 0 && shape[0] == r.batch && shape.TotalSize() == r.batch*x.width:
		return x, nil
	}
	return operand{}, fmt.Errorf("rows of %d numbers don't stay rows", x.width)
}

func (r *reading) transpose(_ string, _ *gorgonia.Node, in []operand) (operand, error) {
	x := in[0]
	if x.rows() || len(x.shape) != 2 {
		return operand{}, fmt.Errorf("expected a matrix of params")
	}
	x.values, x.shape = transposed(x.values, x.shape), []int{x.shape[1], x.shape[0]}
	return x, nil
}

// sliced converts columns of rows: T[:, 1:3:1...]. It leaves out a slice of the batch that selects
// all of it.
func (r *reading) sliced(op string, n *gorgonia.Node, in []operand) (operand, error) {
	x := in[0]
	if !x.rows() {
		return operand{}, fmt.Errorf("expected rows, got params")
	}
	if strings.HasSuffix(op, ":...]") {
		return x, nil
	}
	var start, end, step int
	if _, err := fmt.Sscanf(op, "T[:, %d:%d:%d...]", &start, &end, &step); err != nil {
		return operand{}, fmt.Errorf("expected a slice of columns, not of rows")
	}
	if step > 1 {
		return operand{}, fmt.Errorf("step %d: expected neighbouring columns", step)
	}
	return r.node(nn.OpSlice, end-start, nn.Attr{Start: start, End: end}, x.name), nil
}

func (r *reading) joined(op string, n *gorgonia.Node, in []operand) (operand, error) {
	if op != "Concat(axis=1)" {
		return operand{}, fmt.Errorf("expected columns joined, along axis 1")
	}
	var names []string
	for _, x := range in {
		if !x.rows() {
			return operand{}, fmt.Errorf("params with rows")
		}
		names = append(names, x.name)
	}
	return r.node(nn.OpConcat, n.Shape()[1], nn.Attr{}, names...), nil
}

// along returns the conversion of an op that makes one number of a row.
func (r *reading) along(op nn.Op) func(string, *gorgonia.Node, []operand) (operand, error) {
	return func(text string, _ *gorgonia.Node, in []operand) (operand, error) {
		if !in[0].rows() || !strings.HasSuffix(text, "[1]") {
			return operand{}, fmt.Errorf("expected rows, and their axis 1")
		}
		return r.node(op, 1, nn.Attr{}, in[0].name), nil
	}
}

// softmax converts softmax or its logarithm: x - m - log sum exp(x - m), m the largest of the row,
// which is finite where softmax underflows.
func (r *reading) softmax(op string, n *gorgonia.Node, in []operand) (operand, error) {
	x := in[0]
	var axis int
	if _, err := fmt.Sscanf(op, "Softmax{%d", &axis); err != nil || axis != 1 && axis != -1 || !x.rows() || n.Dims() != 2 {
		return operand{}, fmt.Errorf("expected rows, and their axis 1")
	}
	if !strings.Contains(op, "true") {
		return r.node(nn.OpSoftmax, x.width, nn.Attr{}, x.name), nil
	}
	shifted := r.node(nn.OpSub, x.width, nn.Attr{}, x.name, r.node(nn.OpMax, 1, nn.Attr{}, x.name).name)
	total := r.node(nn.OpSum, 1, nn.Attr{}, r.node(nn.OpExp, x.width, nn.Attr{}, shifted.name).name)
	return r.node(nn.OpSub, x.width, nn.Attr{}, shifted.name, r.node(nn.OpLog, 1, nn.Attr{}, total.name).name), nil
}

// lookedUp converts the rows of a table that indices name. Those of one row of the batch are below
// each other until a Reshape puts them side by side.
func (r *reading) lookedUp(_ string, n *gorgonia.Node, in []operand) (operand, error) {
	table, ids := in[0], in[1]
	if table.rows() || len(table.shape) != 2 || !ids.rows() || n.Shape()[0] != ids.width*r.batch {
		return operand{}, fmt.Errorf("expected rows of a table of params, by indices that are an input")
	}
	o := r.node(nn.OpEmbed, table.shape[1], nn.Attr{Depth: table.shape[0]}, ids.name, r.param(table, table.shape...))
	if ids.width > 1 {
		o.flat = ids.width
	}
	return o, nil
}
