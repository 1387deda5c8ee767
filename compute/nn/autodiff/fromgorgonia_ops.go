package autodiff

import (
	"errors"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"

	"gorgonia.org/gorgonia"

	"github.com/stoker-ml/stoker/compute/nn"
)

// op converts one operation. Gorgonia's ops are recognized by their printed form, because their
// types are not exported.
func (r *reading) op(n *gorgonia.Node, children gorgonia.Nodes, in []operand) (operand, error) {
	name, _, _ := strings.Cut(fmt.Sprint(n.Op()), " ")
	if name == "⊙" {
		return r.multiply(children, in)
	}
	for _, x := range in {
		switch {
		case x.comparison != "":
			return operand{}, errComparison
		case x.flat > 0 && !strings.HasPrefix(name, "Reshape"):
			return operand{}, errFlat
		}
	}
	switch name {
	case "A":
		return r.product(fmt.Sprint(n.Op()), in)
	case "+":
		return r.pair(nn.OpAdd, in)
	case "-":
		return r.pair(nn.OpSub, in)
	case "÷":
		return r.pair(nn.OpDiv, in)
	case "^":
		return r.power(in)
	case "MaxBetween":
		return r.pair(nn.OpMaximum, in)
	case "MinBetween":
		return r.pair(nn.OpMinimum, in)
	}
	if strings.ContainsAny(name, "<>") {
		return operand{comparison: name}, nil
	}
	for i := range in {
		in[i] = r.wide(in[i])
	}
	if size, ok := strings.CutPrefix(name, "SizeOf="); ok {
		return r.size(size, in[0])
	}
	if o, ok, err := r.shaped(n, in); ok {
		return o, err
	}
	return r.function(name, in)
}

// product is rows times a matrix of params, or a vector of them.
func (r *reading) product(op string, in []operand) (operand, error) {
	x, w := r.wide(in[0]), in[1]
	if !x.rows() || w.rows() || len(w.shape) == 0 || strings.HasPrefix(op, "Aᵀ") {
		return operand{}, fmt.Errorf("expected rows times params")
	}
	shape := w.shape
	if len(shape) == 1 {
		shape = []int{shape[0], 1}
	}
	if strings.HasSuffix(op, "ᵀ") {
		w.values, shape = transposed(w.values, shape), []int{shape[1], shape[0]}
	}
	return r.node(nn.OpMatMul, shape[1], nn.Attr{}, x.name, r.param(w, shape...)), nil
}

func transposed(values []float32, shape []int) []float32 {
	all := make([]float32, 0, len(values))
	for j := range shape[1] {
		for i := range shape[0] {
			all = append(all, values[i*shape[1]+j])
		}
	}
	return all
}

// pair combines two operands element by element. If the first is the narrower one, the second has
// to come first: p - x is -x + p, and p / x is 1/x * p.
func (r *reading) pair(op nn.Op, in []operand) (operand, error) {
	x, y := in[0], in[1]
	switch {
	case !x.rows() && !y.rows():
		return numbers(op, x, y)
	case !x.rows():
		y = r.wide(y)
	case !y.rows():
		x = r.wide(x)
	}
	if !x.rows() || y.rows() && y.width > x.width {
		x, y = y, x
		switch op {
		case nn.OpSub:
			op, x = nn.OpAdd, r.node(nn.OpNeg, x.width, nn.Attr{}, x.name)
		case nn.OpDiv:
			op, x = nn.OpMul, r.node(nn.OpInverse, x.width, nn.Attr{}, x.name)
		}
	}
	if y.rows() {
		o := r.node(op, x.width, nn.Attr{}, x.name, y.name)
		if x.width == 1 {
			o.repeated = max(x.repeated, y.repeated)
		}
		return o, nil
	}
	if len(y.values) != 1 && (len(y.values) != x.width || y.shape[len(y.shape)-1] != x.width) {
		return operand{}, fmt.Errorf("params of shape %v with rows of %d numbers", y.shape, x.width)
	}
	return r.node(op, x.width, nn.Attr{}, x.name, r.param(y, len(y.values))), nil
}

// numbers combines operands that are the same for all rows, of one shape.
func numbers(op nn.Op, x, y operand) (operand, error) {
	f, _ := op.Binary()
	if len(y.values) != len(x.values) && len(y.values) != 1 {
		return operand{}, fmt.Errorf("params of shapes %v and %v", x.shape, y.shape)
	}
	o := operand{shape: x.shape, values: slices.Clone(x.values), leaf: x.leaf}
	for i := range o.values {
		o.values[i] = f.Of(x.values[i], y.values[i%len(y.values)])
	}
	return o, nil
}

var errComparison = errors.New("comparisons are known where they choose between x and 0: x ⊙ (x > 0)")

// errFlat is for ops between ByIndices and Reshape, for which each index would be a row of its own.
var errFlat = errors.New("what ByIndices found for one row has to be put side by side by Reshape first")

// multiply is x ⊙ y, except for x ⊙ (x > 0), which is how Gorgonia writes Rectify, and x ⊙ (x < 0).
func (r *reading) multiply(children gorgonia.Nodes, in []operand) (operand, error) {
	for i, by := range in {
		if by.flat > 0 {
			return operand{}, errFlat
		}
		if by.comparison != "" {
			return r.chosen(by.comparison, operandsOf(children[i]), children[1-i], in[1-i])
		}
	}
	return r.pair(nn.OpMul, in)
}

// chosen is x where compared[0] > compared[1], or <, which must be x and 0.
func (r *reading) chosen(comparison string, compared gorgonia.Nodes, node *gorgonia.Node, x operand) (operand, error) {
	zero := r.done[compared[1]]
	if compared[0] != node || len(zero.values) != 1 || zero.values[0] != 0 || !x.rows() {
		return operand{}, errComparison
	}
	x = r.wide(x)
	if comparison[0] == '>' {
		return r.node(nn.OpRelu, x.width, nn.Attr{}, x.name), nil
	}
	return r.pair(nn.OpMinimum, []operand{x, zero})
}

// power supports the exponents for which there are ops.
func (r *reading) power(in []operand) (operand, error) {
	x, e := r.wide(in[0]), in[1]
	if !x.rows() || e.rows() || len(e.values) != 1 {
		return operand{}, fmt.Errorf("expected rows and one exponent")
	}
	switch e.values[0] {
	case 1:
		return x, nil
	case 2:
		return r.node(nn.OpSquare, x.width, nn.Attr{}, x.name), nil
	case 3:
		return r.function("cube", in[:1])
	case 0.5:
		return r.node(nn.OpSqrt, x.width, nn.Attr{}, x.name), nil
	case -1:
		return r.node(nn.OpInverse, x.width, nn.Attr{}, x.name), nil
	case -0.5:
		return r.function("invSqrt", in[:1])
	}
	return operand{}, fmt.Errorf("exponent %v: expected 1, 2, 3, 0.5, -1 or -0.5", e.values[0])
}

// functions of each element that are one op here, by the names that Gorgonia prints.
var functions = map[string]nn.Op{
	"abs": nn.OpAbs, "exp": nn.OpExp, "ln": nn.OpLog, "neg": nn.OpNeg, "square": nn.OpSquare, "sqrt": nn.OpSqrt, "inv": nn.OpInverse, "tanh": nn.OpTanh,
	"sigmoid": nn.OpSigmoid, "log1p": nn.OpLog1p, "expm1": nn.OpExpm1, "softplus": nn.OpSoftplus,
}

// function converts a function of each element.
func (r *reading) function(name string, in []operand) (operand, error) {
	x := in[0]
	if !x.rows() {
		return operand{}, fmt.Errorf("expected an op on rows")
	}
	apply := func(op nn.Op, x operand) operand { return r.node(op, x.width, nn.Attr{}, x.name) }
	if op, ok := functions[name]; ok {
		return apply(op, x), nil
	}
	switch {
	case name == "cube":
		return r.pair(nn.OpMul, []operand{apply(nn.OpSquare, x), x})
	case name == "invSqrt":
		return apply(nn.OpInverse, apply(nn.OpSqrt, x)), nil
	case name == "log2":
		return r.pair(nn.OpMul, []operand{apply(nn.OpLog, x), {shape: []int{}, values: []float32{1 / float32(math.Ln2)}, leaf: "log2e"}})
	case strings.HasPrefix(name, "Dropout{"):
		return x, nil
	}
	return operand{}, fmt.Errorf("is not known")
}

// size returns the length of an axis. That of the batch isn't known when a model is served.
func (r *reading) size(text string, of operand) (operand, error) {
	n, err := strconv.Atoi(text)
	if err != nil || of.rows() && n != of.width {
		return operand{}, fmt.Errorf("expected the number of columns: that of rows is another in each batch")
	}
	return operand{shape: []int{}, values: []float32{float32(n)}, leaf: "size"}, nil
}
