package nn

import (
	"math"

	"gorgonia.org/gorgonia"
)

// MeanAbsoluteError is mean_j |z[j] - t[j]|, with slope 0 where they are the same: regression to the median.
type MeanAbsoluteError struct{}

// Name is Keras's.
func (MeanAbsoluteError) Name() string { return "mean_absolute_error" }

// Row follows the formula.
func (MeanAbsoluteError) Row(z, t []float32) float64 {
	sum := 0.0
	for j := range z {
		sum += math.Abs(float64(z[j]) - float64(t[j]))
	}
	return sum / float64(len(z))
}

// Predict is the logits themselves.
func (MeanAbsoluteError) Predict(_ *Builder, _ string, logits Ref) Ref { return logits }

func (MeanAbsoluteError) express(logits, target, weight *gorgonia.Node) (*gorgonia.Node, error) {
	var e expression
	return e.weightedMean(e.of(gorgonia.Abs, e.of2(gorgonia.Sub, logits, target)), weight)
}
