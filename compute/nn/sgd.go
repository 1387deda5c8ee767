package nn

// SGD is w -= rate * g. It has no slots.
type SGD struct {
	LearningRate float64
	slots
}

// Name is sgd.
func (o *SGD) Name() string { return "sgd" }

func (o *SGD) slotCount() int { return 0 }

// Step follows the formula.
func (o *SGD) Step(weights, grads []float32) {
	o.next(o.slotCount(), len(weights), 0)
	rate := float32(o.LearningRate)
	for i, g := range grads {
		weights[i] -= rate * g
	}
}

// State implements Optimizer.
func (o *SGD) State() OptimizerState { return o.state(o.Name()) }

// Restore implements Optimizer.
func (o *SGD) Restore(s OptimizerState) error { return o.restore(o.Name(), o.slotCount(), s) }
