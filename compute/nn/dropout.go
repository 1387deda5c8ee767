package nn

import (
	"fmt"

	"gorgonia.org/gorgonia"

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
	mask := l.run(func() (*gorgonia.Node, error) { return maskNode(x, n.Attr, l.step) })
	return l.of2(gorgonia.HadamardProd, x, mask)
}

// maskNode is the mask of a Dropout at a step, which is read when it is drawn. It has the shape of x, which counts for nothing else: no
// slope goes through it.
func maskNode(x *gorgonia.Node, a Attr, step *uint64) (*gorgonia.Node, error) {
	return (&kernelOp{
		name:  fmt.Sprintf("Mask{%g, %d, %d}", a.Rate, a.Seed, a.Stream),
		lower: plan.Dropout, attr: plan.Attr{Rate: a.Rate, Seed: a.Seed, Stream: a.Stream},
		shape: shapeOfFirst,
		do:    func(mask []float32, _ []plan.Slice) { alone.Dropout(mask, a.Rate, a.Seed, a.Stream, *step) },
	}).apply(x)
}
