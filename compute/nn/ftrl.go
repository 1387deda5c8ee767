package nn

// FTRL follows the regularized leader (McMahan et al. 2013, algorithm 1, as in Keras), by which Estimators train linear models.
// With its two slots, a from InitialAccumulator and z from 0:
//
//	b = a + g^2
//	z += g - (sqrt(b) - sqrt(a)) / rate * w,  then a = b
//	w = (clip(z, -L1, L1) - z) / (sqrt(a) / rate + 2 L2)
//
// So what the weights are at the start is forgotten at the first step, but for what z holds of it.
type FTRL struct {
	LearningRate       float64
	InitialAccumulator float64
	L1, L2             float64

	// Warm lets z start from where the weights it finds would be its own, so that they count. Keras lacks that; for weights that
	// start at 0 it is the same.
	Warm bool
	slots
}

// Name is ftrl.
func (o *FTRL) Name() string { return "ftrl" }

func (o *FTRL) slotCount() int { return 2 }

// Step follows the formula.
func (o *FTRL) Step(weights, grads []float32) {
	first := o.values == nil
	o.next(o.slotCount(), len(weights), float32(o.InitialAccumulator))
	if first {
		o.start(weights)
	}
	a, z := o.values[0], o.values[1]
	rate, l1, l2 := float32(o.LearningRate), float32(o.L1), float32(o.L2)
	for i, g := range grads {
		before := sqrt(a[i])
		a[i] += g * g
		now := sqrt(a[i])
		z[i] += g - (now-before)/rate*weights[i]
		weights[i] = (max(min(z[i], l1), -l1) - z[i]) / (now/rate + 2*l2)
	}
}

// start is z = 0, or the last line of the formula solved for z: -w (sqrt(a) / rate + 2 L2) - sign(w) L1.
func (o *FTRL) start(weights []float32) {
	a, z := o.values[0], o.values[1]
	clear(z)
	if !o.Warm {
		return
	}
	rate, l1, l2 := float32(o.LearningRate), float32(o.L1), float32(o.L2)
	for i, w := range weights {
		z[i] = -w * (sqrt(a[i])/rate + 2*l2)
		switch {
		case w > 0:
			z[i] -= l1
		case w < 0:
			z[i] += l1
		}
	}
}

// State implements Optimizer.
func (o *FTRL) State() OptimizerState { return o.state(o.Name()) }

// Restore implements Optimizer.
func (o *FTRL) Restore(s OptimizerState) error { return o.restore(o.Name(), o.slotCount(), s) }
