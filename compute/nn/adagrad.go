package nn

// Adagrad is (Duchi et al. 2011, as in Keras): a += g^2, then w -= rate * g / sqrt(a + Epsilon). Slots: a, from
// InitialAccumulator.
type Adagrad struct {
	LearningRate       float64
	InitialAccumulator float64
	Epsilon            float64
	slots
}

// Name is adagrad.
func (o *Adagrad) Name() string { return "adagrad" }

func (o *Adagrad) slotCount() int { return 1 }

// Step follows the formula.
func (o *Adagrad) Step(weights, grads []float32) {
	o.next(o.slotCount(), len(weights), float32(o.InitialAccumulator))
	a, rate, epsilon := o.values[0], float32(o.LearningRate), float32(o.Epsilon)
	for i, g := range grads {
		a[i] += g * g
		weights[i] -= rate * g / sqrt(a[i]+epsilon)
	}
}

// State implements Optimizer.
func (o *Adagrad) State() OptimizerState { return o.state(o.Name()) }

// Restore implements Optimizer.
func (o *Adagrad) Restore(s OptimizerState) error { return o.restore(o.Name(), o.slotCount(), s) }
