package optim

import (
	"github.com/stoker-ml/stoker/compute/kernel"
	"github.com/stoker-ml/stoker/compute/nn/plan"
)

var ftrl = method{name: "ftrl", rate: 0.001, make: func(rate float64) single {
	return &FTRL{LearningRate: rate, InitialAccumulator: 0.1}
}}

// FTRL follows the regularized leader (McMahan et al. 2013, algorithm 1, as in Keras). Estimators train
// linear models by it. With its two slots, a from InitialAccumulator and z from 0:
//
//	b = a + g^2
//	z += g - (sqrt(b) - sqrt(a)) / rate * w,  then a = b
//	w = (clip(z, -L1, L1) - z) / (sqrt(a) / rate + 2 L2)
//
// The first step thus forgets the initial weights, except for what z holds of them.
type FTRL struct {
	LearningRate       float64 `json:"learning_rate"`
	InitialAccumulator float64 `json:"initial_accumulator_value"`
	L1                 float64 `json:"l1_regularization_strength"`
	L2                 float64 `json:"l2_regularization_strength"`

	// Warm starts z so that the formula yields the initial weights, which otherwise are forgotten.
	// Keras lacks that; for weights that start at 0 it makes no difference.
	Warm bool `json:"-"`
	Settings
	slots
}

// Name is ftrl.
func (o *FTRL) Name() string { return "ftrl" }

func (o *FTRL) rule(t int64) kernel.Rule {
	return kernel.Rule{Formula: kernel.FTRL, Numbers: kernel.Numbers{o.rate(o.LearningRate, t), o.L1, 2 * o.L2}}
}

// start sets a = InitialAccumulator and z = 0; if Warm, z is the last line of the formula solved for z:
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

// Step implements Optimizer.
func (o *FTRL) Step(weights, grads []float32) { stepBy(o, weights, grads) }

// State implements Optimizer.
func (o *FTRL) State() State { return o.state(o.Name()) }

// Restore implements Optimizer.
func (o *FTRL) Restore(s State) error { return restoreBy(o, s) }
