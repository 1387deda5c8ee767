package nn

import (
	"math"

	"gorgonia.org/gorgonia"
)

// SigmoidCrossEntropy is mean_j softplus(z[j]) - t[j] z[j], which is -t log p - (1-t) log(1-p) with p = sigmoid(z): yes or no.
type SigmoidCrossEntropy struct{ Smoothing Smoothing }

// Name is Keras's.
func (SigmoidCrossEntropy) Name() string { return "binary_crossentropy" }

// Row takes softplus(z) as max(z,0) + log(1+exp(-|z|)), which can't overflow.
func (l SigmoidCrossEntropy) Row(z, t []float32) float64 {
	sum := 0.0
	for j := range z {
		x := float64(z[j])
		sum += max(x, 0) + math.Log1p(math.Exp(-math.Abs(x))) - l.Smoothing.of(t[j], 2)*x
	}
	return sum / float64(len(z))
}

// Predict is sigmoid.
func (SigmoidCrossEntropy) Predict(b *Builder, name string, logits Ref) Ref {
	return b.Activation(name, logits, OpSigmoid)
}

func (l SigmoidCrossEntropy) express(logits, target, weight *gorgonia.Node) (*gorgonia.Node, error) {
	var e expression
	target = l.Smoothing.express(&e, target, 2)
	diff := e.of2(gorgonia.Sub, e.of(gorgonia.Softplus, logits), e.of2(gorgonia.HadamardProd, target, logits))
	return e.weightedMean(diff, weight)
}
