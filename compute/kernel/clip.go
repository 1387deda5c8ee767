package kernel

import "math"

// ClipValue keeps each gradient within -bound..bound, as Keras's clipvalue does: g = max(min(g,
// bound), -bound).
func (t *Team) ClipValue(grads []float32, bound float32) {
	for i, g := range grads {
		grads[i] = max(min(g, bound), -bound)
	}
}

// ClipNorm scales gradients to an L2 norm of at most bound, as Keras's clipnorm does: g *= bound /
// norm where norm > bound. One that isn't finite makes all of them NaN.
func (t *Team) ClipNorm(grads []float32, bound float32) {
	norm := math.Sqrt(t.SumSquares(grads))
	if norm <= float64(bound) {
		return
	}
	by := float32(float64(bound)/norm + (norm - norm)) // NaN where the norm is infinite
	for i := range grads {
		grads[i] *= by
	}
}
