package nn

import (
	"fmt"
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
