package nn

// Momentum is Keras's SGD with momentum: m = Momentum * m - rate * g, then w += m. Slots: m, from 0.
type Momentum struct {
	LearningRate float64
	Momentum     float64
	slots
}

// Name is momentum.
func (o *Momentum) Name() string { return "momentum" }

func (o *Momentum) slotCount() int { return 1 }

// Step follows the formula.
func (o *Momentum) Step(weights, grads []float32) {
	o.next(o.slotCount(), len(weights), 0)
	m, mu, rate := o.values[0], float32(o.Momentum), float32(o.LearningRate)
	for i, g := range grads {
		m[i] = mu*m[i] - rate*g
		weights[i] += m[i]
	}
}

// State implements Optimizer.
func (o *Momentum) State() OptimizerState { return o.state(o.Name()) }

// Restore implements Optimizer.
func (o *Momentum) Restore(s OptimizerState) error { return o.restore(o.Name(), o.slotCount(), s) }
