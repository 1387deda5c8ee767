package optim

import (
	"github.com/stoker-ml/stoker/compute/kernel"
	"github.com/stoker-ml/stoker/compute/nn/plan"
)

var sgd = method{name: "sgd", rate: 0.01, make: func(rate float64) single { return &SGD{LearningRate: rate} }}

// SGD is w -= rate * g. It has no slots.
type SGD struct {
	LearningRate float64 `json:"learning_rate"`
	Settings
	slots
}

// Name is sgd.
func (o *SGD) Name() string { return "sgd" }

func (o *SGD) rule(t int64) kernel.Rule {
	return kernel.Rule{Formula: kernel.SGD, Numbers: kernel.Numbers{o.rate(o.LearningRate, t)}}
}

// Updates implements Updater.
func (o *SGD) Updates(weights []float32) []plan.Update { return updatesBy(o, weights) }

// Step implements Optimizer.
func (o *SGD) Step(weights, grads []float32) { stepBy(o, weights, grads) }

// State implements Optimizer.
func (o *SGD) State() State { return o.state(o.Name()) }

// Restore implements Optimizer.
func (o *SGD) Restore(s State) error { return restoreBy(o, s) }
