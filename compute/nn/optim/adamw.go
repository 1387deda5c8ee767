package optim

import (
	"github.com/stoker-ml/stoker/compute/kernel"
	"github.com/stoker-ml/stoker/compute/nn/plan"
)

var adamw = method{name: "adamw", rate: 0.001, make: func(rate float64) single {
	return &AdamW{Adam: *newAdam(rate), WeightDecay: 0.004}
}}

// AdamW is w -= rate * WeightDecay * w, then a step of Adam (Loshchilov and Hutter 2019, as in Keras:
// every weight decays, biases too, by the rate of the step). Slots: Adam's.
type AdamW struct {
	Adam
	WeightDecay float64 `json:"weight_decay"`
}

// Name is adamw.
func (o *AdamW) Name() string { return "adamw" }

func (o *AdamW) rule(t int64) kernel.Rule {
	r := o.Adam.rule(t)
	r.Decay = o.rate(o.LearningRate, t) * o.WeightDecay
	return r
}

// Updates implements Updater.
func (o *AdamW) Updates(weights []float32) []plan.Update { return updatesBy(o, weights) }

// Step implements Optimizer.
func (o *AdamW) Step(weights, grads []float32) { stepBy(o, weights, grads) }

// State implements Optimizer.
func (o *AdamW) State() State { return o.state(o.Name()) }

// Restore implements Optimizer.
func (o *AdamW) Restore(s State) error { return restoreBy(o, s) }
