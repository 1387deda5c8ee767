package optim

import (
	"github.com/stoker-ml/stoker/compute/kernel"
	"github.com/stoker-ml/stoker/compute/nn/plan"
)

var adagrad = method{name: "adagrad", rate: 0.001, make: func(rate float64) single {
	return &Adagrad{LearningRate: rate, InitialAccumulator: 0.1, Epsilon: 1e-7}
}}

// Adagrad is (Duchi et al. 2011, as in Keras): a += g^2, then w -= rate * g / sqrt(a + Epsilon).
// Slots: a, from InitialAccumulator.
type Adagrad struct {
	LearningRate       float64 `json:"learning_rate"`
	InitialAccumulator float64 `json:"initial_accumulator_value"`
	Epsilon            float64 `json:"epsilon"`
	Settings
	slots
}

// Name is adagrad.
func (o *Adagrad) Name() string { return "adagrad" }

func (o *Adagrad) rule(t int64) kernel.Rule {
	return kernel.Rule{Formula: kernel.Adagrad, Numbers: kernel.Numbers{o.rate(o.LearningRate, t), o.Epsilon}}
}

func (o *Adagrad) start(slots [][]float32, _ []float32) { fill(slots[0], o.InitialAccumulator) }

// Updates implements Updater.
func (o *Adagrad) Updates(weights []float32) []plan.Update { return updatesBy(o, weights) }

// Step implements Optimizer.
func (o *Adagrad) Step(weights, grads []float32) { stepBy(o, weights, grads) }

// State implements Optimizer.
func (o *Adagrad) State() State { return o.state(o.Name()) }

// Restore implements Optimizer.
func (o *Adagrad) Restore(s State) error { return restoreBy(o, s) }
