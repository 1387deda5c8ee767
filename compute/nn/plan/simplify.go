package plan

import (
	"github.com/stoker-ml/stoker/compute/kernel"
)

// The functions below make a value, and a simpler one if its operands allow that: constants are
// folded, repeated operands are combined as the row, column or number that they were, and the
// formulas with which Gorgonia writes an activation and its slope are recognized.

// apply is f of each element.
func (c *compiler) apply(f kernel.Func, x *value) *value {
	switch {
	case f == kernel.Identity:
		return x
	case x.source == splat:
		return c.all(f.Of(x.number), x.rows, x.cols)
	case x.is(Repeat):
		return c.repeat(c.apply(f, x.in[0]), x.rows, x.cols)
	}
	return c.make(funcNames[f], Map, Attr{Func: f}, x.rows, x.cols, x)
}

// funcNames are only for messages.
var funcNames = map[kernel.Func]string{
	kernel.Relu: "relu", kernel.Sigmoid: "sigmoid", kernel.Tanh: "tanh", kernel.Softplus: "softplus", kernel.Neg: "neg", kernel.Abs: "abs",
	kernel.Exp: "exp", kernel.Log: "log", kernel.Log1p: "log1p", kernel.Expm1: "expm1", kernel.Sqrt: "sqrt", kernel.Square: "square",
	kernel.Inverse: "inverse", kernel.Sign: "sign", kernel.Step: "step",
}

// slope is dy times f's slope at v.
func (c *compiler) slope(f kernel.Func, dy, v *value) *value {
	return c.make(funcNames[f]+"'", Slope, Attr{Func: f}, v.rows, v.cols, c.whole(dy, v.rows, v.cols), v)
}

// whole returns x with so many rows and columns: a single number is repeated.
func (c *compiler) whole(x *value, rows, cols int) *value {
	if x.len() == 1 && rows*cols != 1 {
		return c.repeat(c.reshaped(x, 1, 1), rows, cols)
	}
	return c.reshaped(x, rows, cols)
}

// combine is f(x, y), where one may be a single number.
func (c *compiler) combine(f kernel.Binary, x, y *value, rows, cols int) *value {
	x, y = c.whole(x, rows, cols), c.whole(y, rows, cols)
	switch {
	case x.source == splat && y.source == splat:
		return c.all(f.Of(x.number, y.number), rows, cols)
	case x.is(Repeat) && y.is(Repeat) && x.in[0].rows == y.in[0].rows && x.in[0].cols == y.in[0].cols:
		a, b := x.in[0], y.in[0]
		return c.repeat(c.combine(f, a, b, a.rows, a.cols), rows, cols)
	case x.is(Repeat) && y.source == splat:
		a := x.in[0]
		return c.repeat(c.combine(f, a, c.all(y.number, a.rows, a.cols), a.rows, a.cols), rows, cols)
	case y.is(Repeat) && x.source == splat:
		b := y.in[0]
		return c.repeat(c.combine(f, c.all(x.number, b.rows, b.cols), b, b.rows, b.cols), rows, cols)
	}
	if v := c.identity(f, x, y); v != nil {
		return v
	}
	if v := c.activation(f, x, y); v != nil {
		return v
	}
	return c.combined(f, x, y, rows, cols)
}

// combined makes the second operand the narrower one.
func (c *compiler) combined(f kernel.Binary, x, y *value, rows, cols int) *value {
	attr := Attr{Binary: f}
	if narrow(x) && !narrow(y) {
		x, y, attr.Swapped = y, x, !commutes(f)
	}
	if y.source == splat {
		y, attr.Shape = c.all(y.number, 1, 1), kernel.Scalar
	} else if y.is(Repeat) {
		y = y.in[0]
		attr.Shape = shapeOf(y, cols)
	}
	if attr.Shape == kernel.Full && commutes(f) && c.id(y) < c.id(x) { // x y and y x are one value
		x, y = y, x
	}
	return c.make(binaryNames[f], Combine, attr, rows, cols, x, y)
}

// binaryNames are only for messages.
var binaryNames = map[kernel.Binary]string{
	kernel.Add: "add", kernel.Sub: "sub", kernel.Mul: "mul", kernel.Div: "div", kernel.Max: "max", kernel.Min: "min", kernel.Pow: "pow",
	kernel.Gt: "gt", kernel.Gte: "gte", kernel.Lt: "lt", kernel.Lte: "lte", kernel.Eq: "eq", kernel.Ne: "ne",
}

func narrow(x *value) bool { return x.source == splat || x.is(Repeat) }

func commutes(f kernel.Binary) bool {
	return f == kernel.Add || f == kernel.Mul || f == kernel.Max || f == kernel.Min || f == kernel.Eq || f == kernel.Ne
}

// shapeOf returns how a repeated operand is broadcast over a matrix of so many columns.
func shapeOf(y *value, cols int) kernel.Shape {
	switch {
	case y.len() == 1:
		return kernel.Scalar
	case y.rows == 1 && y.cols == cols:
		return kernel.Row
	}
	return kernel.Column
}

// identity returns the result if f(x, y) needs no arithmetic, or one operand alone; else nil.
func (c *compiler) identity(f kernel.Binary, x, y *value) *value {
	if x.source == splat && commutes(f) {
		x, y = y, x
	}
	if y.source != splat {
		if f == kernel.Mul && x == y {
			return c.apply(kernel.Square, x)
		}
		return nil
	}
	switch {
	case (f == kernel.Mul || f == kernel.Div) && y.number == 1, f == kernel.Sub && y.number == 0:
		return x
	case f == kernel.Mul && y.number == -1:
		return c.apply(kernel.Neg, x)
	case f == kernel.Gt && y.number == 0:
		return c.apply(kernel.Step, x)
	}
	return nil
}

// repeat is x, a row, column or number, repeated.
func (c *compiler) repeat(x *value, rows, cols int) *value {
	switch {
	case x.rows == rows && x.cols == cols:
		return x
	case x.source == splat:
		return c.all(x.number, rows, cols)
	case x.is(Repeat) && x.in[0].len() == 1:
		return c.repeat(x.in[0], rows, cols)
	}
	return c.make("repeat", Repeat, Attr{}, rows, cols, x)
}

// reduce is the sum of x over an axis.
func (c *compiler) reduce(axis Axis, x *value) *value {
	rows, cols := 1, 1
	switch axis {
	case Rows:
		cols = x.cols
	case Cols:
		rows = x.rows
	}
	switch {
	case rows*cols == x.len():
		return c.reshaped(x, rows, cols)
	case x.source == splat:
		return c.all(x.number*float32(x.len()/(rows*cols)), rows, cols)
	}
	return c.make("sum", Reduce, Attr{Axis: axis}, rows, cols, x)
}

// transpose of one row or column is the other.
func (c *compiler) transpose(x *value) *value {
	switch {
	case x.rows == 1 || x.cols == 1:
		return c.reshaped(x, x.cols, x.rows)
	case x.source == splat:
		return c.all(x.number, x.cols, x.rows)
	case x.is(Transpose):
		return x.in[0]
	}
	return c.make("transpose", Transpose, Attr{}, x.cols, x.rows, x)
}

// gemm is the product of op(a) and op(b). With a matrix of equal numbers, it is a sum that is
// repeated.
func (c *compiler) gemm(a, b *value, transA, transB bool) *value {
	if a.is(Transpose) {
		a, transA = a.in[0], !transA
	}
	if b.is(Transpose) {
		b, transB = b.in[0], !transB
	}
	rows, _ := turned(a, transA)
	_, cols := turned(b, transB)
	switch {
	case b.source == splat:
		column := c.reshaped(c.reduce(inside(!transA), a), rows, 1)
		return c.scaled(c.repeat(column, rows, cols), b.number)
	case a.source == splat:
		row := c.reshaped(c.reduce(inside(transB), b), 1, cols)
		return c.scaled(c.repeat(row, rows, cols), a.number)
	}
	attr := Attr{Product: kernel.Product{TransA: transA, TransB: transB}}
	return c.make("product", Gemm, attr, rows, cols, a, b)
}

func (c *compiler) scaled(x *value, by float32) *value {
	return c.combine(kernel.Mul, x, c.all(by, x.rows, x.cols), x.rows, x.cols)
}

// turned returns the rows and columns of an operand of a product.
func turned(x *value, trans bool) (rows, cols int) {
	if trans {
		return x.cols, x.rows
	}
	return x.rows, x.cols
}

// inside returns the axis over which a product with ones sums.
func inside(alongRows bool) Axis {
	if alongRows {
		return Cols
	}
	return Rows
}

// activation recognizes an activation, or its slope, in a product of two values; else nil. x and y
// may be in either order.
func (c *compiler) activation(f kernel.Binary, x, y *value) *value {
	if f != kernel.Mul {
		return nil
	}
	if v := c.activationOf(x, y); v != nil {
		return v
	}
	return c.activationOf(y, x)
}

func (c *compiler) activationOf(dy, s *value) *value {
	switch {
	case mapped(s, kernel.Step) && s.in[0] == dy: // x (x > 0)
		return c.apply(kernel.Relu, dy)
	case mapped(s, kernel.Step): // dy (x > 0)
		return c.slope(kernel.Relu, dy, s.in[0])
	case mapped(s, kernel.Sign): // dy sign(x)
		return c.slope(kernel.Abs, dy, s.in[0])
	case mapped(s, kernel.Sigmoid) && c.has(kernel.Softplus, s.in[0]): // dy sigmoid(x)
		return c.slope(kernel.Softplus, dy, s.in[0])
	}
	if y := tanhSlope(s); y != nil {
		return c.slope(kernel.Tanh, dy, y)
	}
	if y := sigmoidSlope(s); y != nil {
		return c.slope(kernel.Sigmoid, dy, y)
	}
	return nil
}

func mapped(v *value, f kernel.Func) bool { return v.is(Map) && v.attr.Func == f }

// has reports whether f of x is computed anyhow.
func (c *compiler) has(f kernel.Func, x *value) bool {
	v := &value{op: Map, attr: Attr{Func: f}, rows: x.rows, cols: x.cols, in: []*value{x}}
	return c.same[c.key(v)] != nil
}

// tanhSlope returns y if v is 1 - y^2 and y is a tanh.
func tanhSlope(v *value) *value {
	if !oneMinus(v) || !mapped(v.in[0], kernel.Square) || !mapped(v.in[0].in[0], kernel.Tanh) {
		return nil
	}
	return v.in[0].in[0]
}

// sigmoidSlope returns y if v is y (1 - y), or y sigmoid(-x), and y is sigmoid(x).
func sigmoidSlope(v *value) *value {
	if !v.is(Combine) || v.attr.Binary != kernel.Mul || v.attr.Shape != kernel.Full {
		return nil
	}
	for i, y := range v.in {
		other := v.in[1-i]
		if !mapped(y, kernel.Sigmoid) {
			continue
		}
		if oneMinus(other) && other.in[0] == y {
			return y
		}
		if mapped(other, kernel.Sigmoid) && mapped(other.in[0], kernel.Neg) && other.in[0].in[0] == y.in[0] {
			return y
		}
	}
	return nil
}

// oneMinus reports whether v is 1 - something.
func oneMinus(v *value) bool {
	return v.is(Combine) && v.attr.Binary == kernel.Sub && v.attr.Swapped && v.attr.Shape == kernel.Scalar &&
		v.in[1].source == splat && v.in[1].number == 1
}
