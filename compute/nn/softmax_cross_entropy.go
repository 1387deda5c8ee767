package nn

import (
	"math"
	"slices"

	"gorgonia.org/gorgonia"
)

// SoftmaxCrossEntropy is -sum_j t[j] log p[j] with p = softmax(z): one class of many. t sums to 1, in general one-hot.
type SoftmaxCrossEntropy struct{ Smoothing Smoothing }

// Name is Keras's.
func (SoftmaxCrossEntropy) Name() string { return "categorical_crossentropy" }

// Row takes log p[j] as z[j] - m - log sum_k exp(z[k]-m), m the largest z.
func (l SoftmaxCrossEntropy) Row(z, t []float32) float64 {
	m, sum, loss := slices.Max(z), 0.0, 0.0
	for _, zj := range z {
		sum += math.Exp(float64(zj - m))
	}
	logSum := math.Log(sum)
	for j, tj := range t {
		if t := l.Smoothing.of(tj, len(t)); t != 0 {
			loss -= t * (float64(z[j]-m) - logSum)
		}
	}
	return loss
}

// Predict is softmax.
func (SoftmaxCrossEntropy) Predict(b *Builder, name string, logits Ref) Ref {
	return b.Activation(name, logits, OpSoftmax)
}

func (l SoftmaxCrossEntropy) express(logits, target, weight *gorgonia.Node) (*gorgonia.Node, error) {
	var e expression
	target = l.Smoothing.express(&e, target, target.Shape()[1])
	weighted := e.of2(gorgonia.HadamardProd, target, weight)
	sum := e.of(sumAll, e.of2(gorgonia.HadamardProd, weighted, e.of(logSoftmaxNode, logits)))
	return e.of(gorgonia.Neg, sum), e.err
}
