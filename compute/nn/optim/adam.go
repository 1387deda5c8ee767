package optim

import (
	"math"

	"github.com/stoker-ml/stoker/compute/kernel"
	"github.com/stoker-ml/stoker/compute/nn/plan"
)

var adam = method{name: "adam", rate: 0.001, make: func(rate float64) single { return newAdam(rate) }}

func newAdam(rate float64) *Adam {
	return &Adam{LearningRate: rate, Beta1: 0.9, Beta2: 0.999, Epsilon: 1e-7}
}

// Adam is (Kingma and Ba 2015, in the form before section 2.1, as in Keras), at step t from 1:
//
//	m += (g - m) (1 - Beta1)
//	v += (g^2 - v) (1 - Beta2)
//	w -= rate sqrt(1 - Beta2^t) / (1 - Beta1^t) * m / (sqrt(v) + Epsilon)
//
// Slots: m and v, from 0.
type Adam struct {
	LearningRate float64 `json:"learning_rate"`
	Beta1        float64 `json:"beta_1"`
	Beta2        float64 `json:"beta_2"`
	Epsilon      float64 `json:"epsilon"`
	Settings
	slots
}

// Name is adam.
func (o *Adam) Name() string { return "adam" }

func (o *Adam) rule(t int64) kernel.Rule {
	correction := math.Sqrt(1-math.Pow(o.Beta2, float64(t))) / (1 - math.Pow(o.Beta1, float64(t)))
	rate := o.rate(o.LearningRate, t) * correction
	return kernel.Rule{Formula: kernel.Adam, Numbers: kernel.Numbers{rate, 1 - o.Beta1, 1 - o.Beta2, o.Epsilon}}
}

// Updates implements Updater.
func (o *Adam) Updates(weights []float32) []plan.Update { return updatesBy(o, weights) }

// Step implements Optimizer.
func (o *Adam) Step(weights, grads []float32) { stepBy(o, weights, grads) }

// State implements Optimizer.
func (o *Adam) State() State { return o.state(o.Name()) }

// Restore implements Optimizer.
func (o *Adam) Restore(s State) error { return restoreBy(o, s) }
