package optim

import (
	"github.com/stoker-ml/stoker/compute/kernel"
	"github.com/stoker-ml/stoker/compute/nn/plan"
)

// Adagrad is (Duchi et al. 2011, as in Keras): a += g^2, then w -= rate * g / sqrt(a + Epsilon). Slots: a, from
// InitialAccumulator.
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
	return kernel.Rule{Op: kernel.Adagrad, Rate: o.rate(o.LearningRate, t), Epsilon: o.Epsilon}
}

func (o *Adagrad) start(slots [][]float32, _ []float32) { fill(slots[0], o.InitialAccumulator) }

// Updates implements Updater.
func (o *Adagrad) Updates(weights []float32) []plan.Update { return updatesBy(o, weights) }

// Step follows the formula.
func (o *Adagrad) Step(weights, grads []float32) { stepBy(o, weights, grads) }

// State implements Optimizer.
func (o *Adagrad) State() State { return o.state(o.Name()) }

// Restore implements Optimizer.
func (o *Adagrad) Restore(s State) error { return restoreBy(o, s) }
