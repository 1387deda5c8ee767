package optim

import (
	"github.com/stoker-ml/stoker/compute/kernel"
	"github.com/stoker-ml/stoker/compute/nn/plan"
)

var rmsprop = method{name: "rmsprop", rate: 0.001, make: func(rate float64) single {
	return &RMSprop{LearningRate: rate, Rho: 0.9, Epsilon: 1e-7}
}}

// RMSprop is (Tieleman and Hinton 2012, as in Keras), with d = v, or v - a^2 where Centered:
//
//	v = Rho v + (1 - Rho) g^2,  a = Rho a + (1 - Rho) g
//	s = rate g / sqrt(d + Epsilon)
//	m = Momentum m + s, then w -= m;  without Momentum w -= s
//
// Slots: v, m, a, from 0.
type RMSprop struct {
	LearningRate float64 `json:"learning_rate"`
	Rho          float64 `json:"rho"`
	Momentum     float64 `json:"momentum"`
	Epsilon      float64 `json:"epsilon"`
	Centered     bool    `json:"centered"`
	Settings
	slots
}

// Name is rmsprop.
func (o *RMSprop) Name() string { return "rmsprop" }

func (o *RMSprop) rule(t int64) kernel.Rule {
	formula := kernel.RMSprop
	switch {
	case o.Centered && o.Momentum > 0:
		formula = kernel.RMSpropCenteredMomentum
	case o.Centered:
		formula = kernel.RMSpropCentered
	case o.Momentum > 0:
		formula = kernel.RMSpropMomentum
	}
	return kernel.Rule{Formula: formula, Numbers: kernel.Numbers{o.rate(o.LearningRate, t), o.Rho, 1 - o.Rho, o.Epsilon, o.Momentum}}
}

// Updates implements Updater.
func (o *RMSprop) Updates(weights []float32) []plan.Update { return updatesBy(o, weights) }

// Step implements Optimizer.
func (o *RMSprop) Step(weights, grads []float32) { stepBy(o, weights, grads) }

// State implements Optimizer.
func (o *RMSprop) State() State { return o.state(o.Name()) }

// Restore implements Optimizer.
func (o *RMSprop) Restore(s State) error { return restoreBy(o, s) }
