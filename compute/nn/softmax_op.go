package nn

import (
	"fmt"
	gohash "hash"
	"hash/fnv"
	"math"

	"github.com/chewxy/hm"
	"gorgonia.org/gorgonia"
	"gorgonia.org/tensor"

	"github.com/stoker-ml/stoker/compute/nn/plan"
)

// rowOp is a function of the rows of float matrices of one shape, in Gorgonia's terms. Gorgonia's own softmax does not do:
// it takes the first number of the first row for one of each row when it looks for the row's maximum, so that one large
// logit makes other rows underflow, and log-softmax of a row may be -Inf. Seen in gorgonia.org/tensor v0.9.24,
// StdEng.softMaxLastDimF32.
type rowOp struct {
	name  string
	arity int
	lower plan.Op
	row   func(y []float32, in [][]float32)
	slope binary // of the result's gradient and the result y, where arity is 1; nil for none
}

// Lower implements plan.Lowered.
func (o *rowOp) Lower() (plan.Op, plan.Attr) { return o.lower, plan.Attr{} }

// softmaxNode is softmax of each row; dx[j] = (g[j] - sum_k g[k] y[k]) y[j].
func softmaxNode(x *gorgonia.Node) (*gorgonia.Node, error) {
	return gorgonia.ApplyOp(&rowOp{
		name: "RowSoftmax", arity: 1, lower: plan.Softmax,
		row: func(y []float32, in [][]float32) { softmaxRow(y, in[0]) },
		slope: func(grad, y *gorgonia.Node) (*gorgonia.Node, error) {
			return gorgonia.ApplyOp(&rowOp{name: "RowSoftmaxSlope", arity: 2, lower: plan.SoftmaxSlope, row: softmaxSlope}, grad, y)
		},
	}, x)
}

// logSoftmaxNode is log softmax of each row; dx[j] = g[j] - exp(y[j]) sum_k g[k].
func logSoftmaxNode(x *gorgonia.Node) (*gorgonia.Node, error) {
	return gorgonia.ApplyOp(&rowOp{
		name: "RowLogSoftmax", arity: 1, lower: plan.LogSoftmax,
		row: func(y []float32, in [][]float32) { logSoftmaxRow(y, in[0]) },
		slope: func(grad, y *gorgonia.Node) (*gorgonia.Node, error) {
			return gorgonia.ApplyOp(&rowOp{name: "RowLogSoftmaxSlope", arity: 2, lower: plan.LogSoftmaxSlope, row: logSoftmaxSlope}, grad, y)
		},
	}, x)
}

func softmaxSlope(dx []float32, in [][]float32) {
	g, y, sum := in[0], in[1], 0.0
	for k := range y {
		sum += float64(g[k]) * float64(y[k])
	}
	for j := range dx {
		dx[j] = float32((float64(g[j]) - sum) * float64(y[j]))
	}
}

func logSoftmaxSlope(dx []float32, in [][]float32) {
	g, y, sum := in[0], in[1], 0.0
	for k := range g {
		sum += float64(g[k])
	}
	for j := range dx {
		dx[j] = float32(float64(g[j]) - math.Exp(float64(y[j]))*sum)
	}
}

// Do computes into a new tensor.
func (o *rowOp) Do(in ...gorgonia.Value) (gorgonia.Value, error) {
	if len(in) == 0 {
		return nil, fmt.Errorf("%s: no operand", o.name)
	}
	return o.UsePreallocDo(tensor.New(tensor.WithShape(in[0].Shape().Clone()...), tensor.Of(tensor.Float32)), in...)
}

// UsePreallocDo computes into the tensor y.
func (o *rowOp) UsePreallocDo(y gorgonia.Value, in ...gorgonia.Value) (gorgonia.Value, error) {
	to, ok := y.Data().([]float32)
	if !ok || len(in) != o.arity || len(y.Shape()) != 2 {
		return nil, fmt.Errorf("%s: %d operands into shape %v, expected %d into a float matrix", o.name, len(in), y.Shape(), o.arity)
	}
	from, rows := make([][]float32, len(in)), make([][]float32, len(in))
	for i, v := range in {
		if from[i], ok = v.Data().([]float32); !ok || len(from[i]) != len(to) {
			return nil, fmt.Errorf("%s: operand %d has shape %v, expected %v", o.name, i, v.Shape(), y.Shape())
		}
	}
	n := y.Shape()[1]
	for start := 0; start < len(to); start += n {
		for i := range from {
			rows[i] = from[i][start : start+n]
		}
		o.row(to[start:start+n], rows)
	}
	return y, nil
}

// SymDiff implements gorgonia.SDOp.
func (o *rowOp) SymDiff(in gorgonia.Nodes, y, grad *gorgonia.Node) (gorgonia.Nodes, error) {
	if o.slope == nil || len(in) != 1 {
		return nil, fmt.Errorf("%s has no gradient", o.name)
	}
	dx, err := o.slope(grad, y)
	return gorgonia.Nodes{dx}, err
}

// DiffWRT implements gorgonia.SDOp.
func (o *rowOp) DiffWRT(inputs int) []bool {
	all := make([]bool, inputs)
	for i := range all {
		all[i] = o.slope != nil
	}
	return all
}

// InferShape is that of the operands.
func (o *rowOp) InferShape(in ...gorgonia.DimSizer) (tensor.Shape, error) {
	shape, ok := in[0].(tensor.Shape)
	if !ok || len(shape) != 2 {
		return nil, fmt.Errorf("%s: operand of shape %v, expected a matrix", o.name, in[0])
	}
	return shape.Clone(), nil
}

// Type is a -> ... -> a.
func (o *rowOp) Type() hm.Type {
	a := hm.TypeVariable('a')
	types := []hm.Type{a}
	for range o.arity {
		types = append(types, a)
	}
	return hm.NewFnType(types...)
}

// Arity and the rest say how Gorgonia may run the op: on plain memory, not in place. Nodes of one name over the same
// operands are one node.
func (o *rowOp) Arity() int              { return o.arity }
func (o *rowOp) ReturnsPtr() bool        { return false }
func (o *rowOp) CallsExtern() bool       { return false }
func (o *rowOp) OverwritesInput() int    { return -1 }
func (o *rowOp) WriteHash(h gohash.Hash) { _, _ = h.Write([]byte(o.name)) } // a hash's Write returns no error
func (o *rowOp) String() string          { return o.name }

// Hashcode is of the name.
func (o *rowOp) Hashcode() uint32 {
	h := fnv.New32a()
	o.WriteHash(h)
	return h.Sum32()
}
