package optim

import (
	"math"

	"github.com/stoker-ml/stoker/compute/kernel"
)

// Algorithm is the formula of an optimizer with its numbers, named as Keras's arguments: *SGD,
// *Adam and so on. It has no state. NewSingle makes an Optimizer of it.
type Algorithm interface {
	// Name is Keras's; momentum and nesterov are SGD with those options.
	Name() string
	// rule returns the formula and its numbers at step t, from 1; s decides the learning rate.
	rule(s *Settings, t int64) kernel.Rule
}

// starter is an Algorithm whose slots do not start at 0.
type starter interface {
	// start fills new slots, which are 0, given the weights before the first step.
	start(s *Settings, slots [][]float32, weights []float32)
}

// methods are the optimizers that New knows, in the order in which messages list them, with Keras's
// default learning rates; make sets Keras's other defaults.
var methods = []method{
	{"sgd", 0.01, func(rate float64) Algorithm { return &SGD{LearningRate: rate} }},
	{"momentum", 0.01, func(rate float64) Algorithm { return &Momentum{LearningRate: rate, Momentum: 0.9} }},
	{"nesterov", 0.01, func(rate float64) Algorithm {
		return &Momentum{LearningRate: rate, Momentum: 0.9, Nesterov: true}
	}},
	{"adam", 0.001, func(rate float64) Algorithm { return newAdam(rate) }},
	{"adamw", 0.001, func(rate float64) Algorithm { return &AdamW{Adam: *newAdam(rate), WeightDecay: 0.004} }},
	{"adagrad", 0.001, func(rate float64) Algorithm {
		return &Adagrad{LearningRate: rate, InitialAccumulator: 0.1, Epsilon: 1e-7}
	}},
	{"rmsprop", 0.001, func(rate float64) Algorithm { return &RMSprop{LearningRate: rate, Rho: 0.9, Epsilon: 1e-7} }},
	{"ftrl", 0.001, func(rate float64) Algorithm { return &FTRL{LearningRate: rate, InitialAccumulator: 0.1} }},
}

// method is an Algorithm by name.
type method struct {
	name string
	rate float64
	make func(learningRate float64) Algorithm
}

// SGD is w -= rate * g. It has no slots.
type SGD struct {
	LearningRate float64 `json:"learning_rate"`
}

// Name is sgd.
func (a *SGD) Name() string { return "sgd" }

func (a *SGD) rule(s *Settings, t int64) kernel.Rule {
	return kernel.Rule{Formula: kernel.SGD, Numbers: kernel.Numbers{s.rate(a.LearningRate, t)}}
}

// Momentum is Keras's SGD with momentum: m = Momentum * m - rate * g, then w += m, or with Nesterov
// w += Momentum * m - rate * g (Sutskever et al. 2013, the weights being those looked ahead to).
// Slots: m, from 0.
type Momentum struct {
	LearningRate float64 `json:"learning_rate"`
	Momentum     float64 `json:"momentum"`
	Nesterov     bool    `json:"nesterov"`
}

// Name is momentum, or nesterov.
func (a *Momentum) Name() string {
	if a.Nesterov {
		return "nesterov"
	}
	return "momentum"
}

func (a *Momentum) rule(s *Settings, t int64) kernel.Rule {
	formula := kernel.Momentum
	if a.Nesterov {
		formula = kernel.Nesterov
	}
	return kernel.Rule{Formula: formula, Numbers: kernel.Numbers{s.rate(a.LearningRate, t), a.Momentum}}
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
}

func newAdam(rate float64) *Adam {
	return &Adam{LearningRate: rate, Beta1: 0.9, Beta2: 0.999, Epsilon: 1e-7}
}

// Name is adam.
func (a *Adam) Name() string { return "adam" }

func (a *Adam) rule(s *Settings, t int64) kernel.Rule {
	correction := math.Sqrt(1-math.Pow(a.Beta2, float64(t))) / (1 - math.Pow(a.Beta1, float64(t)))
	rate := s.rate(a.LearningRate, t) * correction
	return kernel.Rule{Formula: kernel.Adam, Numbers: kernel.Numbers{rate, 1 - a.Beta1, 1 - a.Beta2, a.Epsilon}}
}

// AdamW is w -= rate * WeightDecay * w, then a step of Adam (Loshchilov and Hutter 2019, as in
// Keras: every weight decays, biases too, by the rate of the step). Slots: Adam's.
type AdamW struct {
	Adam
	WeightDecay float64 `json:"weight_decay"`
}

// Name is adamw.
func (a *AdamW) Name() string { return "adamw" }

func (a *AdamW) rule(s *Settings, t int64) kernel.Rule {
	r := a.Adam.rule(s, t)
	r.Decay = s.rate(a.LearningRate, t) * a.WeightDecay
	return r
}

// Adagrad is (Duchi et al. 2011, as in Keras): a += g^2, then w -= rate * g / sqrt(a + Epsilon).
// Slots: a, from InitialAccumulator.
type Adagrad struct {
	LearningRate       float64 `json:"learning_rate"`
	InitialAccumulator float64 `json:"initial_accumulator_value"`
	Epsilon            float64 `json:"epsilon"`
}

// Name is adagrad.
func (a *Adagrad) Name() string { return "adagrad" }

func (a *Adagrad) rule(s *Settings, t int64) kernel.Rule {
	return kernel.Rule{Formula: kernel.Adagrad, Numbers: kernel.Numbers{s.rate(a.LearningRate, t), a.Epsilon}}
}

func (a *Adagrad) start(_ *Settings, slots [][]float32, _ []float32) {
	fill(slots[0], a.InitialAccumulator)
}

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
}

// Name is rmsprop.
func (a *RMSprop) Name() string { return "rmsprop" }

func (a *RMSprop) rule(s *Settings, t int64) kernel.Rule {
	formula := kernel.RMSprop
	switch {
	case a.Centered && a.Momentum > 0:
		formula = kernel.RMSpropCenteredMomentum
	case a.Centered:
		formula = kernel.RMSpropCentered
	case a.Momentum > 0:
		formula = kernel.RMSpropMomentum
	}
	rate := s.rate(a.LearningRate, t)
	return kernel.Rule{Formula: formula, Numbers: kernel.Numbers{rate, a.Rho, 1 - a.Rho, a.Epsilon, a.Momentum}}
}

// FTRL follows the regularized leader (McMahan et al. 2013, algorithm 1, as in Keras). Estimators
// train linear models by it. With its two slots, a from InitialAccumulator and z from 0:
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
}

// Name is ftrl.
func (a *FTRL) Name() string { return "ftrl" }

func (a *FTRL) rule(s *Settings, t int64) kernel.Rule {
	return kernel.Rule{Formula: kernel.FTRL, Numbers: kernel.Numbers{s.rate(a.LearningRate, t), a.L1, 2 * a.L2}}
}

// start sets a = InitialAccumulator and z = 0; if Warm, z is the last line of the formula solved
// for z: -w (sqrt(a) / rate + 2 L2) - sign(w) L1.
func (a *FTRL) start(s *Settings, slots [][]float32, weights []float32) {
	sums, z := slots[0], slots[1]
	fill(sums, a.InitialAccumulator)
	if !a.Warm {
		return
	}
	rate, l1, l2 := float32(s.rate(a.LearningRate, 1)), float32(a.L1), float32(a.L2)
	for i, w := range weights {
		z[i] = -w * (sqrt(sums[i])/rate + 2*l2)
		switch {
		case w > 0:
			z[i] -= l1
		case w < 0:
			z[i] += l1
		}
	}
}

// fill sets every element of a slot.
func fill(slot []float32, with float64) {
	for i := range slot {
		slot[i] = float32(with)
	}
}

// sqrt is correctly rounded: a float64 square root of a float32 rounds to the float32 one.
func sqrt(x float32) float32 { return float32(math.Sqrt(float64(x))) }
