package nn

import (
	"math"

	"github.com/stoker-ml/stoker/compute/kernel"
)

// clipGradients bounds the gradients of one param, or of all together, as Keras does: each element g becomes min(max(g, -Value),
// Value), or all become g bound / max(norm, bound), norm their L2 norm. One that isn't finite makes all of them NaN.
func clipGradients(c Clip, grads []float32) {
	if c.Value > 0 {
		for i, g := range grads {
			grads[i] = max(min(g, c.Value), -c.Value)
		}
	}
	bound := max(c.Norm, c.Global)
	if bound == 0 {
		return
	}
	norm := math.Sqrt((*kernel.Team)(nil).SumSquares(grads))
	if norm <= float64(bound) {
		return
	}
	scale := float32(float64(bound)/norm + (norm - norm)) // NaN where the norm is infinite
	for i := range grads {
		grads[i] *= scale
	}
}
