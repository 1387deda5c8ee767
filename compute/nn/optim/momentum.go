package optim

import (
	"github.com/stoker-ml/stoker/compute/kernel"
	"github.com/stoker-ml/stoker/compute/nn/plan"
)

// Momentum is Keras's SGD with momentum: m = Momentum * m - rate * g, then w += m, or with Nesterov w += Momentum * m - rate * g
// (Sutskever et al. 2013, with the weights at the place looked ahead to). Slots: m, from 0.
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
	return kernel.Rule{Op: kernel.Momentum, Rate: o.rate(o.LearningRate, t), Mu: o.Momentum, Nesterov: o.Nesterov}
}

// Updates implements Updater.
func (o *Momentum) Updates(weights []float32) []plan.Update { return updatesBy(o, weights) }

// Step follows the formula.
func (o *Momentum) Step(weights, grads []float32) { stepBy(o, weights, grads) }

// State implements Optimizer.
func (o *Momentum) State() State { return o.state(o.Name()) }

// Restore implements Optimizer.
func (o *Momentum) Restore(s State) error { return restoreBy(o, s) }
