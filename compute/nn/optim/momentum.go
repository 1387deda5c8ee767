package optim

import (
	"github.com/stoker-ml/stoker/compute/kernel"
	"github.com/stoker-ml/stoker/compute/nn/plan"
)

var (
	momentum = method{name: "momentum", rate: 0.01, make: func(rate float64) single {
		return &Momentum{LearningRate: rate, Momentum: 0.9}
	}}
	nesterov = method{name: "nesterov", rate: 0.01, make: func(rate float64) single {
		return &Momentum{LearningRate: rate, Momentum: 0.9, Nesterov: true}
	}}
)

// Momentum is Keras's SGD with momentum: m = Momentum * m - rate * g, then w += m, or with Nesterov
// w += Momentum * m - rate * g (Sutskever et al. 2013, the weights being those looked ahead to).
// Slots: m, from 0.
type Momentum struct {
	LearningRate float64 `json:"learning_rate"`
	Momentum     float64 `json:"momentum"`
	Nesterov     bool    `json:"nesterov"`
	Settings
	slots
}

// Name is momentum, or nesterov.
func (o *Momentum) Name() string {
	if o.Nesterov {
		return "nesterov"
	}
	return "momentum"
}

func (o *Momentum) rule(t int64) kernel.Rule {
	formula := kernel.Momentum
	if o.Nesterov {
		formula = kernel.Nesterov
	}
	return kernel.Rule{Formula: formula, Numbers: kernel.Numbers{o.rate(o.LearningRate, t), o.Momentum}}
}

// Updates implements Updater.
func (o *Momentum) Updates(weights []float32) []plan.Update { return updatesBy(o, weights) }

// Step implements Optimizer.
func (o *Momentum) Step(weights, grads []float32) { stepBy(o, weights, grads) }

// State implements Optimizer.
func (o *Momentum) State() State { return o.state(o.Name()) }

// Restore implements Optimizer.
func (o *Momentum) Restore(s State) error { return restoreBy(o, s) }
