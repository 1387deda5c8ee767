package plan

import (
	"fmt"
	"strings"

	"gorgonia.org/gorgonia"
	"gorgonia.org/tensor"

	"github.com/stoker-ml/stoker/compute/kernel"
)

// known returns the value of a node whose op is known for these shapes, else nil. Gorgonia does not
// export the types of its ops, so they are recognized by the names of their types and by their
// String; known_test.go detects changes of these.
func (c *compiler) known(d *node) *value {
	if low, ok := d.Op().(Lowered); ok {
		return c.lowered(d, low)
	}
	for _, v := range d.in {
		if v.source == fixed && d.op != "*gorgonia.repeatOp" || v.kind == Int && !takesIDs[d.op] {
			return nil
		}
	}
	switch d.op {
	case "gorgonia.elemBinOp":
		return c.binary(d)
	case "gorgonia.elemUnaryOp":
		return c.unary(d)
	case "gorgonia.linAlgBinOp":
		return c.product(d)
	case "gorgonia.sumOp", "*gorgonia.sumOp":
		return c.sum(d)
	case "gorgonia.maxOp", "*gorgonia.maxOp":
		return c.max(d)
	case "gorgonia.reshapeOp", "*gorgonia.reshapeOp":
		return c.reshaped(d.in[0], d.rows, d.cols)
	case "*gorgonia.repeatOp", "gorgonia.repeatOp":
		return c.repeatNode(d)
	case "gorgonia.transposeOp", "*gorgonia.transposeOp":
		return c.transposeNode(d)
	case "gorgonia.concatOp", "*gorgonia.concatOp":
		return c.concat(d)
	case "*gorgonia.sliceOp":
		return c.slice(d)
	case "gorgonia.sliceIncrOp":
		return c.sliceSlope(d)
	case "*gorgonia.softmaxOp":
		return c.softmax(d)
	case "*gorgonia.softmaxDiffOp":
		return c.softmaxSlope(d)
	case "*gorgonia.byIndicesOp":
		return c.gather(d)
	case "*gorgonia.byIndicesOpDiffOp":
		return c.scatter(d)
	}
	return nil
}

// takesIDs are the ops that are also known for ids; kernels move only float32.
var takesIDs = map[string]bool{"gorgonia.reshapeOp": true, "*gorgonia.reshapeOp": true, "*gorgonia.byIndicesOp": true, "*gorgonia.byIndicesOpDiffOp": true}

// lowered converts an op that names its own instruction. Of a mask's operand only the shape counts.
func (c *compiler) lowered(d *node, low Lowered) *value {
	op, attr := low.Lower()
	in := d.in
	if op == Dropout {
		in = nil
	}
	if op == Map {
		return c.apply(attr.Func, in[0])
	}
	if op == Columns {
		return c.columns(in[0], attr.Start, d.rows, d.cols)
	}
	return c.make(d.says, op, attr, d.rows, d.cols, in...)
}

// columns returns those of x from start; those of one row are a part of its memory.
func (c *compiler) columns(x *value, start, rows, cols int) *value {
	if x.source == bound && rows == 1 {
		return c.part(x, start, rows, cols)
	}
	return c.make("columns", Columns, Attr{Start: start}, rows, cols, x)
}

var binaries = map[string]kernel.Binary{
	"+": kernel.Add, "-": kernel.Sub, "⊙": kernel.Mul, "÷": kernel.Div, "^": kernel.Pow,
	"<": kernel.Lt, ">": kernel.Gt, "<=": kernel.Lte, ">=": kernel.Gte, "==": kernel.Eq, "!=": kernel.Ne,
}

func (c *compiler) binary(d *node) *value {
	sign, _, _ := strings.Cut(d.says, " ")
	f, ok := binaries[sign]
	x, y := d.in[0], d.in[1]
	if !ok || x.kind != Float || y.kind != Float || x.len() != y.len() && x.len() != 1 && y.len() != 1 {
		return nil
	}
	return c.combine(f, x, y, d.rows, d.cols)
}

var unaries = map[string]kernel.Func{
	"abs": kernel.Abs, "sign": kernel.Sign, "exp": kernel.Exp, "ln": kernel.Log, "neg": kernel.Neg, "square": kernel.Square,
	"sqrt": kernel.Sqrt, "inv": kernel.Inverse, "tanh": kernel.Tanh, "sigmoid": kernel.Sigmoid, "log1p": kernel.Log1p,
	"expm1": kernel.Expm1, "softplus": kernel.Softplus,
}

func (c *compiler) unary(d *node) *value {
	x := d.in[0]
	if f, ok := unaries[d.says]; ok && x.kind == Float {
		return c.apply(f, x)
	}
	if d.says == "cube" && x.kind == Float {
		return c.combine(kernel.Mul, c.apply(kernel.Square, x), x, d.rows, d.cols)
	}
	return nil
}

// product converts one of matrices and vectors; a vector is one row in memory, and a column to the
// right of a matrix.
func (c *compiler) product(d *node) *value {
	a, b := d.in[0], d.in[1]
	switch d.says {
	case "A × B", "Aᵀ × B", "A × Bᵀ", "Aᵀ × Bᵀ":
		if d.kids[0].Dims() != 2 || d.kids[1].Dims() != 2 {
			return nil
		}
		return c.gemm(a, b, strings.Contains(d.says, "Aᵀ"), strings.Contains(d.says, "Bᵀ"))
	case "A × b", "Aᵀ × b":
		y := c.gemm(a, c.reshaped(b, b.len(), 1), strings.Contains(d.says, "Aᵀ"), false)
		return c.reshaped(y, d.rows, d.cols)
	case "a ⋅ b":
		return c.gemm(c.reshaped(a, 1, a.len()), c.reshaped(b, b.len(), 1), false, false)
	case "a ⊗ b":
		return c.gemm(c.reshaped(a, a.len(), 1), c.reshaped(b, 1, b.len()), false, false)
	}
	return nil
}

// sum converts one over all axes, or over one of a matrix's.
func (c *compiler) sum(d *node) *value {
	x, shape := d.in[0], d.kids[0].Shape()
	if d.Shape().TotalSize() == 1 {
		return c.reshaped(c.reduce(All, x), d.rows, d.cols)
	}
	if shape.Dims() != 2 {
		return nil
	}
	switch d.says {
	case "Σ[0]":
		return c.reshaped(c.reduce(Rows, x), d.rows, d.cols)
	case "Σ[1]":
		return c.reshaped(c.reduce(Cols, x), d.rows, d.cols)
	}
	return nil
}

func (c *compiler) max(d *node) *value {
	x, shape := d.in[0], d.kids[0].Shape()
	switch {
	case d.Shape().TotalSize() == 1:
		x = c.reshaped(x, 1, x.len())
	case shape.Dims() != 2 || d.says != "MaxAlong[1]":
		return nil
	}
	y := c.make(d.says, ReduceMax, Attr{}, x.rows, 1, x)
	return c.reshaped(y, d.rows, d.cols)
}

// rowSoftmax reports whether a softmax of that axis is one of each row, and whether it is the
// logarithm.
func rowSoftmax(says, format string, x *gorgonia.Node) (isLog, ok bool) {
	axis := 0
	if _, err := fmt.Sscanf(says, format, &axis, &isLog); err != nil {
		return false, false
	}
	return isLog, axis == x.Dims()-1 || axis == -1 && !x.Shape().IsColVec()
}

func (c *compiler) softmax(d *node) *value {
	isLog, ok := rowSoftmax(d.says, "Softmax{%d, %t}()", d.kids[0])
	if !ok {
		return nil
	}
	op := Softmax
	if isLog {
		op = LogSoftmax
	}
	return c.make(d.says, op, Attr{}, d.rows, d.cols, d.in[0])
}

// softmaxSlope has the operands x, y and dy.
func (c *compiler) softmaxSlope(d *node) *value {
	isLog, ok := rowSoftmax(d.says, "SoftmaxDiff{%d, %t}()", d.kids[0])
	if !ok {
		return nil
	}
	op := SoftmaxSlope
	if isLog {
		op = LogSoftmaxSlope
	}
	return c.make(d.says, op, Attr{}, d.rows, d.cols, d.in[2], d.in[1])
}

// gather looks up rows of a table.
func (c *compiler) gather(d *node) *value {
	table, ids := d.in[0], d.in[1]
	if d.says != "ByIndicesOp{axis=0}" || d.kids[0].Dims() != 2 || ids.kind != Int {
		return nil
	}
	return c.make(d.says, Gather, Attr{}, d.rows, d.cols, table, ids)
}

// scatter has the operands table, dy and ids.
func (c *compiler) scatter(d *node) *value {
	dy, ids := d.in[1], d.in[2]
	if d.says != "ByIndicesOpDiff{}(0)" || d.kids[0].Dims() != 2 || ids.kind != Int {
		return nil
	}
	return c.make(d.says, Scatter, Attr{}, d.rows, d.cols, c.reshaped(dy, ids.len(), d.cols), ids)
}

// Operations that only move or repeat numbers.

// repeatNode is a Repeat of an operand that has size 1 along the axis.
func (c *compiler) repeatNode(d *node) *value {
	x := d.in[0]
	shape := d.kids[0].Shape()
	switch {
	case x.source == splat:
		return c.all(x.number, d.rows, d.cols)
	case x.is(Repeat) && x.in[0].len() == 1:
		return c.repeat(x.in[0], d.rows, d.cols)
	case x.len() == 1:
		return c.repeat(c.reshaped(x, 1, 1), d.rows, d.cols)
	case x.len() == d.rows*d.cols:
		return c.reshaped(x, d.rows, d.cols)
	case d.Shape().Dims() == 2 && d.says == "Repeat0" && x.len() == d.cols:
		return c.repeat(c.reshaped(x, 1, d.cols), d.rows, d.cols)
	case d.Shape().Dims() == 2 && d.says == "Repeat1" && x.len() == d.rows && (shape.Dims() == 1 || shape[1] == 1):
		return c.repeat(c.reshaped(x, d.rows, 1), d.rows, d.cols)
	}
	return nil
}

func (c *compiler) transposeNode(d *node) *value {
	if d.Shape().Dims() != 2 || d.says != "Aᵀ{1, 0}" {
		return nil
	}
	return c.transpose(d.in[0])
}

func axisOf(d *node, format string) int {
	axis := -1
	if _, err := fmt.Sscanf(d.says, format, &axis); err != nil {
		return -1
	}
	return axis
}

// concat puts operands side by side; operands below one another are side by side in memory too, if
// each is one row.
func (c *compiler) concat(d *node) *value {
	in := make([]*value, len(d.in))
	switch axis := axisOf(d, "Concat(axis=%d)"); {
	case axis == 0:
		for i, x := range d.in {
			in[i] = c.reshaped(x, 1, x.len())
		}
		return c.reshaped(c.make(d.says, Concat, Attr{}, 1, d.rows*d.cols, in...), d.rows, d.cols)
	case axis == 1 && d.Shape().Dims() == 2:
		return c.make(d.says, Concat, Attr{}, d.rows, d.cols, d.in...)
	}
	return nil
}

// cut returns what a slice of Gorgonia with steps of 1 selects from a matrix or vector: columns, of
// rows if each is laid out as one.
func cut(says string, shape tensor.Shape) (rows, cols, start, end int, ok bool) {
	step := 0
	rows, cols = matrixOf(shape)
	if says == "T[:...]" || says == "T[:, :...]" {
		return rows, cols, 0, cols, true
	}
	switch shape.Dims() {
	case 1:
		_, err := fmt.Sscanf(says, "T[%d:%d:%d...]", &start, &end, &step)
		return rows, cols, start, end, err == nil && step <= 1
	case 2:
		if _, err := fmt.Sscanf(says, "T[:, %d:%d:%d...]", &start, &end, &step); err == nil {
			return rows, cols, start, end, step <= 1
		}
		_, err := fmt.Sscanf(says, "T[%d:%d:%d...]", &start, &end, &step)
		return 1, rows * cols, start * cols, end * cols, err == nil && step <= 1
	}
	return 0, 0, 0, 0, false
}

func (c *compiler) slice(d *node) *value {
	rows, cols, start, end, ok := cut(d.says, d.kids[0].Shape())
	if !ok || rows*(end-start) != d.rows*d.cols {
		return nil
	}
	x := c.reshaped(d.in[0], rows, cols)
	if end-start == cols {
		return c.reshaped(x, d.rows, d.cols)
	}
	return c.reshaped(c.columns(x, start, rows, end-start), d.rows, d.cols)
}

// sliceSlope puts a slope at the position of the slice.
func (c *compiler) sliceSlope(d *node) *value {
	rows, cols, start, end, ok := cut(strings.TrimSuffix(d.says, "+=..."), d.kids[0].Shape())
	if !ok || rows*(end-start) != d.in[1].len() {
		return nil
	}
	dy := c.reshaped(d.in[1], rows, end-start)
	if end-start == cols {
		return c.reshaped(dy, d.rows, d.cols)
	}
	return c.reshaped(c.make(d.says, Pad, Attr{Start: start}, rows, cols, dy), d.rows, d.cols)
}
