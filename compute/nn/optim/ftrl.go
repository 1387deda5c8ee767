package optim

import (
	"github.com/stoker-ml/stoker/compute/kernel"
	"github.com/stoker-ml/stoker/compute/nn/plan"
)

// FTRL follows the regularized leader (McMahan et al. 2013, algorithm 1, as in Keras), by which Estimators train linear models.
// With its two slots, a from InitialAccumulator and z from 0:
//
//	b = a + g^2
//	z += g - (sqrt(b) - sqrt(a)) / rate * w,  then a = b
//	w = (clip(z, -L1, L1) - z) / (sqrt(a) / rate + 2 L2)
//
// So what the weights are at the start is forgotten at the first step, but for what z holds of it.
type FTRL struct {
	LearningRate       float64 `json:"learning_rate"`
	InitialAccumulator float64 `json:"initial_accumulator_value"`
	L1                 float64 `json:"l1_regularization_strength"`
	L2                 float64 `json:"l2_regularization_strength"`

	// Warm lets z start from where the weights it finds would be its own, so that they count. Keras lacks that; for weights that
	// start at 0 it is the same.
	Warm bool `json:"-"`
	Settings
	slots
}

// Name is ftrl.
func (o *FTRL) Name() string { return "ftrl" }

func (o *FTRL) rule(t int64) kernel.Rule {
	return kernel.Rule{Op: kernel.FTRL, Rate: o.rate(o.LearningRate, t), L1: o.L1, L2: o.L2}
}

// start is a = InitialAccumulator and z = 0, or where Warm the last line of the formula solved for z:
// -w (sqrt(a) / rate + 2 L2) - sign(w) L1.
func (o *FTRL) start(slots [][]float32, weights []float32) {
	a, z := slots[0], slots[1]
	fill(a, o.InitialAccumulator)
	if !o.Warm {
		return
	}
	rate, l1, l2 := float32(o.rate(o.LearningRate, 1)), float32(o.L1), float32(o.L2)
	for i, w := range weights {
		z[i] = -w * (sqrt(a[i])/rate + 2*l2)
		switch {
		case w > 0:
			z[i] -= l1
		case w < 0:
			z[i] += l1
		}
	}
}

// Updates implements Updater.
func (o *FTRL) Updates(weights []float32) []plan.Update { return updatesBy(o, weights) }

// Step follows the formula.
func (o *FTRL) Step(weights, grads []float32) { stepBy(o, weights, grads) }

// State implements Optimizer.
func (o *FTRL) State() State { return o.state(o.Name()) }

// Restore implements Optimizer.
func (o *FTRL) Restore(s State) error { return restoreBy(o, s) }
