package nn

import (
	"fmt"
	gohash "hash"
	"hash/fnv"
	"slices"

	"github.com/chewxy/hm"
	"gorgonia.org/gorgonia"
	"gorgonia.org/tensor"

	"github.com/stoker-ml/stoker/compute/nn/plan"
)

// kernelOp is what a kernel does, in Gorgonia's terms: on float32, and ints for ids.
type kernelOp struct {
	name  string    // with all that decides what it computes: two of one name and one shape over the same operands are one
	types []hm.Type // of the operands
	lower plan.Op
	attr  plan.Attr
	shape func(in []tensor.Shape) tensor.Shape
	do    func(y []float32, in []plan.Slice)

	slopes func(in gorgonia.Nodes, y, grad *gorgonia.Node) (gorgonia.Nodes, error) // nil for none
	along  []bool                                                                  // which operands have one
}

// apply makes the node of o over its operands.
func (o *kernelOp) apply(in ...*gorgonia.Node) (*gorgonia.Node, error) {
	o.types = nil
	for _, n := range in {
		o.types = append(o.types, n.Type())
	}
	return gorgonia.ApplyOp(o, in...)
}

// Lower implements plan.Lowered.
func (o *kernelOp) Lower() (plan.Op, plan.Attr) { return o.lower, o.attr }

// Do computes into a new tensor.
func (o *kernelOp) Do(in ...gorgonia.Value) (gorgonia.Value, error) {
	if len(in) != len(o.types) {
		return nil, fmt.Errorf("%s: %d operands, expected %d", o.name, len(in), len(o.types))
	}
	shapes, operands := make([]tensor.Shape, len(in)), make([]plan.Slice, len(in))
	for i, v := range in {
		shapes[i] = v.Shape()
		switch data := v.Data().(type) {
		case []float32:
			operands[i].Floats = data
		case []int:
			operands[i].Ints = data
		default:
			return nil, fmt.Errorf("%s: operand %d is %v of shape %v", o.name, i, v.Dtype(), v.Shape())
		}
	}
	y := tensor.New(tensor.WithShape(o.shape(shapes)...), tensor.Of(tensor.Float32))
	o.do(y.Data().([]float32), operands)
	return y, nil
}

// SymDiff implements gorgonia.SDOp.
func (o *kernelOp) SymDiff(in gorgonia.Nodes, y, grad *gorgonia.Node) (gorgonia.Nodes, error) {
	if o.slopes == nil {
		return nil, fmt.Errorf("%s has no gradient", o.name)
	}
	return o.slopes(in, y, grad)
}

// DiffWRT implements gorgonia.SDOp.
func (o *kernelOp) DiffWRT(inputs int) []bool {
	if o.along == nil {
		return make([]bool, inputs)
	}
	return o.along
}

// InferShape follows shape.
func (o *kernelOp) InferShape(in ...gorgonia.DimSizer) (tensor.Shape, error) {
	shapes := make([]tensor.Shape, len(in))
	for i, d := range in {
		shape, ok := d.(tensor.Shape)
		if !ok {
			return nil, fmt.Errorf("%s: operand of shape %v", o.name, d)
		}
		shapes[i] = shape
	}
	return o.shape(shapes), nil
}

// Type is from the operands' types to a matrix.
func (o *kernelOp) Type() hm.Type {
	return hm.NewFnType(append(slices.Clone(o.types), gorgonia.TensorType{Dims: 2, Of: tensor.Float32})...)
}

// Arity and the rest say how Gorgonia may run the op: on plain memory, not in place.
func (o *kernelOp) Arity() int              { return len(o.types) }
func (o *kernelOp) ReturnsPtr() bool        { return false }
func (o *kernelOp) CallsExtern() bool       { return false }
func (o *kernelOp) OverwritesInput() int    { return -1 }
func (o *kernelOp) WriteHash(h gohash.Hash) { _, _ = h.Write([]byte(o.name)) } // a hash's Write returns no error
func (o *kernelOp) String() string          { return o.name }

// Hashcode is of the name.
func (o *kernelOp) Hashcode() uint32 {
	h := fnv.New32a()
	o.WriteHash(h)
	return h.Sum32()
}

func shapeOfFirst(in []tensor.Shape) tensor.Shape { return in[0].Clone() }
