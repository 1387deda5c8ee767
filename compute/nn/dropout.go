package nn

import (
	"fmt"
	gohash "hash"
	"hash/fnv"

	"github.com/chewxy/hm"
	"gorgonia.org/gorgonia"
	"gorgonia.org/tensor"

	"github.com/stoker-ml/stoker/compute/kernel"
	"github.com/stoker-ml/stoker/compute/nn/plan"
)

// Dropout makes each element of x 0 with probability rate, 0 or more and below 1, and others 1/(1-rate) times as large, in
// training alone: Keras's Dropout (Srivastava et al. 2014). A prediction has x as it is, and a graph that is written to a file
// lacks the layer. What is drawn depends on the Builder's seed, the number of Dropouts before it, and the step.
func (b *Builder) Dropout(name string, x Ref, rate float64) Ref {
	if !(rate >= 0 && rate < 1) {
		b.fail(fmt.Errorf("layer %q: dropout rate %g, expected 0 or more and below 1", name, rate))
		return x
	}
	if rate == 0 {
		return x
	}
	if b.dropouts == 0 {
		b.seed = b.rng.Uint64()
	}
	b.train(Node{Name: name, Op: OpDropout, In: []string{x.Name}, Attr: Attr{Rate: float32(rate), Seed: b.seed, Stream: b.dropouts}})
	b.dropouts++
	b.stands[name] = b.stand(x.Name)
	return Ref{name, x.Type}
}

// dropout is x times a mask that is drawn anew in each step.
func (l *lowering) dropout(n *Node, x *gorgonia.Node) *gorgonia.Node {
	op := &maskOp{rate: n.Attr.Rate, seed: n.Attr.Seed, stream: n.Attr.Stream, step: l.step}
	mask := l.run(func() (*gorgonia.Node, error) { return gorgonia.ApplyOp(op, x) })
	return l.of2(gorgonia.HadamardProd, x, mask)
}

// maskOp is the mask of a Dropout, of the shape of its operand, which counts for nothing else: no slope goes through it.
type maskOp struct {
	rate         float32
	seed, stream uint64
	step         *uint64 // of the program: which step it is
}

// Lower implements plan.Lowered.
func (o *maskOp) Lower() (plan.Op, plan.Attr) {
	return plan.Dropout, plan.Attr{Rate: o.rate, Seed: o.seed, Stream: o.stream}
}

// Do draws into a new tensor.
func (o *maskOp) Do(in ...gorgonia.Value) (gorgonia.Value, error) {
	if len(in) != 1 {
		return nil, fmt.Errorf("%v: %d operands, expected 1", o, len(in))
	}
	return o.UsePreallocDo(tensor.New(tensor.WithShape(in[0].Shape().Clone()...), tensor.Of(tensor.Float32)), in...)
}

// UsePreallocDo draws into the tensor y.
func (o *maskOp) UsePreallocDo(y gorgonia.Value, _ ...gorgonia.Value) (gorgonia.Value, error) {
	mask, ok := y.Data().([]float32)
	if !ok {
		return nil, fmt.Errorf("%v: into a %v, expected float32", o, y.Dtype())
	}
	(*kernel.Team)(nil).Dropout(mask, o.rate, o.seed, o.stream, *o.step)
	return y, nil
}

// SymDiff implements gorgonia.SDOp: there is nothing to differentiate by.
func (o *maskOp) SymDiff(gorgonia.Nodes, *gorgonia.Node, *gorgonia.Node) (gorgonia.Nodes, error) {
	return nil, fmt.Errorf("%v has no gradient", o)
}

// DiffWRT implements gorgonia.SDOp.
func (o *maskOp) DiffWRT(inputs int) []bool { return make([]bool, inputs) }

// InferShape is that of the operand.
func (o *maskOp) InferShape(in ...gorgonia.DimSizer) (tensor.Shape, error) {
	shape, ok := in[0].(tensor.Shape)
	if !ok {
		return nil, fmt.Errorf("%v: operand of shape %v", o, in[0])
	}
	return shape.Clone(), nil
}

// Type is a -> a.
func (o *maskOp) Type() hm.Type {
	a := hm.TypeVariable('a')
	return hm.NewFnType(a, a)
}

// Arity and the rest say how Gorgonia may run the op: on plain memory, not in place.
func (o *maskOp) Arity() int              { return 1 }
func (o *maskOp) ReturnsPtr() bool        { return false }
func (o *maskOp) CallsExtern() bool       { return false }
func (o *maskOp) OverwritesInput() int    { return -1 }
func (o *maskOp) WriteHash(h gohash.Hash) { _, _ = h.Write([]byte(o.String())) } // a hash's Write returns no error

// String names the mask: two of the same name over the same operand are one.
func (o *maskOp) String() string { return fmt.Sprintf("Mask{%g, %d, %d}", o.rate, o.seed, o.stream) }

// Hashcode is of the name.
func (o *maskOp) Hashcode() uint32 {
	h := fnv.New32a()
	o.WriteHash(h)
	return h.Sum32()
}
