package nn

// FTRL follows the regularized leader (McMahan et al. 2013, algorithm 1, as in Keras), by which Estimators train linear models.
// With its two slots, a from InitialAccumulator and z from 0:
//
//	b = a + g^2
//	z += g - (sqrt(b) - sqrt(a)) / rate * w,  then a = b
//	w = (clip(z, -L1, L1) - z) / (sqrt(a) / rate + 2 L2)
//
// The weights that it finds count only through z: they should start at 0.
type FTRL struct {
	LearningRate       float64
	InitialAccumulator float64
	L1, L2             float64
	slots
}

// Name is ftrl.
func (o *FTRL) Name() string { return "ftrl" }

// Step follows the formula.
func (o *FTRL) Step(weights, grads []float32) {
	if o.values == nil {
		o.next(2, len(weights), float32(o.InitialAccumulator))
		clear(o.values[1])
	} else {
		o.next(2, len(weights), 0)
	}
	a, z := o.values[0], o.values[1]
	rate, l1, l2 := float32(o.LearningRate), float32(o.L1), float32(o.L2)
	for i, g := range grads {
		root := sqrt(a[i])
		a[i] += g * g
		now := sqrt(a[i])
		z[i] += g - (now-root)/rate*weights[i]
		weights[i] = (max(min(z[i], l1), -l1) - z[i]) / (now/rate + 2*l2)
	}
}

// State implements Optimizer.
func (o *FTRL) State() OptimizerState { return o.state(o.Name()) }

// Restore implements Optimizer.
func (o *FTRL) Restore(s OptimizerState) error { return o.restore(o.Name(), 2, s) }
