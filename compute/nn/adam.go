package nn

import "math"

// Adam is (Kingma and Ba 2015, in the form before section 2.1, as in Keras), at step t from 1:
//
//	m += (g - m) (1 - Beta1)
//	v += (g^2 - v) (1 - Beta2)
//	w -= rate sqrt(1 - Beta2^t) / (1 - Beta1^t) * m / (sqrt(v) + Epsilon)
//
// Slots: m and v, from 0.
type Adam struct {
	LearningRate float64
	Beta1, Beta2 float64
	Epsilon      float64
	slots
}

// Name is adam.
func (o *Adam) Name() string { return "adam" }

func (o *Adam) slotCount() int { return 2 }

// Step follows the formula.
func (o *Adam) Step(weights, grads []float32) {
	o.next(o.slotCount(), len(weights), 0)
	t := float64(o.iterations)
	m, v := o.values[0], o.values[1]
	b1, b2, epsilon := float32(1-o.Beta1), float32(1-o.Beta2), float32(o.Epsilon)
	alpha := float32(o.LearningRate * math.Sqrt(1-math.Pow(o.Beta2, t)) / (1 - math.Pow(o.Beta1, t)))
	for i, g := range grads {
		m[i] += (g - m[i]) * b1
		v[i] += (g*g - v[i]) * b2
		weights[i] -= alpha * m[i] / (sqrt(v[i]) + epsilon)
	}
}

// sqrt is correctly rounded: a float64 square root of a float32 rounds to the float32 one.
func sqrt(x float32) float32 { return float32(math.Sqrt(float64(x))) }

// State implements Optimizer.
func (o *Adam) State() OptimizerState { return o.state(o.Name()) }

// Restore implements Optimizer.
func (o *Adam) Restore(s OptimizerState) error { return o.restore(o.Name(), o.slotCount(), s) }
