package nn

import "gorgonia.org/gorgonia"

// MeanSquaredError is mean_j (z[j] - t[j])^2: regression.
type MeanSquaredError struct{}

// Name is Keras's.
func (MeanSquaredError) Name() string { return "mean_squared_error" }

// Row follows the formula.
func (MeanSquaredError) Row(z, t []float32) float64 {
	sum := 0.0
	for j := range z {
		d := float64(z[j] - t[j])
		sum += d * d
	}
	return sum / float64(len(z))
}

// Predict is the logits themselves.
func (MeanSquaredError) Predict(_ *Builder, _ string, logits Ref) Ref { return logits }

func (MeanSquaredError) express(logits, target, weight *gorgonia.Node) (*gorgonia.Node, error) {
	var e expression
	diff := e.of2(gorgonia.Sub, logits, target)
	return e.weightedMean(e.of2(gorgonia.HadamardProd, diff, diff), weight)
}
