package optim

import (
	"errors"
	"fmt"
	"strings"

	"github.com/stoker-ml/stoker/compute/nn/plan"
)

// Optimizer changes weights along their gradients, in one pass. Its state can be saved and
// restored, so that a training resumes from a checkpoint as if it had never stopped. It is for one
// goroutine.
type Optimizer interface {
	// Name is that of the Algorithm, or lists the Parts.
	Name() string
	// Step updates weights once, in place. Both slices keep their length from call to call. It may
	// change grads.
	Step(weights, grads []float32)
	// State returns what Step remembers, not copied.
	State() State
	// Restore sets a state that State of an optimizer of the same name returned for as many
	// weights.
	Restore(State) error
}

// State is what an optimizer remembers between steps, without Settings and the numbers of its
// formula.
type State struct {
	Name       string
	Iterations int64

	// Slots are as long as the weights, in the order of the formula; there are none before the
	// first step.
	Slots [][]float32
}

// Settings are the arguments that all of Keras's optimizers take.
type Settings struct {
	// Schedule is that of the learning rate; nil: the optimizer's LearningRate in every step.
	Schedule Schedule `json:"learning_rate_schedule,omitempty"`
	// Clip limits the gradients before the update.
	Clip Clip `json:"-"`
}

// WithSettings sets s on an optimizer of this package, and returns it. In Parts each optimizer
// keeps its own Schedule if s has none; Clip bounds the gradients of all parts together.
func WithSettings(o Optimizer, s Settings) (Optimizer, error) {
	if err := checkClip(s.Clip); err != nil {
		return nil, err
	}
	switch o := o.(type) {
	case *Single:
		o.settings = s
	case *Parts:
		o.configure(s)
	default:
		return nil, fmt.Errorf("optimizer %q is none that optim.New knows", o.Name())
	}
	return o, nil
}

// rate returns the learning rate of step t, from 1. Keras counts the steps of a schedule from 0.
func (s *Settings) rate(constant float64, t int64) float64 {
	if s.Schedule == nil {
		return constant
	}
	return s.Schedule.Rate(t - 1)
}

// Names returns the names that New knows.
func Names() []string {
	var names []string
	for _, m := range methods {
		names = append(names, m.name)
	}
	return names
}

// find returns the method of that name.
func find(name string) (method, error) {
	for _, m := range methods {
		if m.name == name {
			return m, nil
		}
	}
	known := Names()
	last := len(known) - 1
	return method{}, fmt.Errorf("unknown optimizer %q: expected %s or %s", name, strings.Join(known[:last], ", "), known[last])
}

// maxLearningRate is the largest rate that is accepted: weights overflow float32 within a few steps
// of it.
const maxLearningRate = 1e6

// New returns the optimizer of that name, with Keras's defaults. A learningRate of 0 means Keras's
// too.
func New(name string, learningRate float64) (Optimizer, error) {
	m, err := find(name)
	if err != nil {
		return nil, err
	}
	if learningRate == 0 {
		learningRate = m.rate
	}
	if !(learningRate > 0) || learningRate > maxLearningRate {
		return nil, fmt.Errorf("learning rate %g: expected a number above 0, at most %g", learningRate, maxLearningRate)
	}
	return NewSingle(m.make(learningRate)), nil
}

// Updater is an Optimizer that describes a step for a plan.Machine, which keeps weights and slots.
// All optimizers of this package are Updaters.
type Updater interface {
	Optimizer
	// Clipping returns the bound for the gradients, which applies before the updates.
	Clipping() Clip
	// Updates counts a step and returns its updates, whose Grads are ranges of weights. They are
	// the same in each call but for the rules, as long as weights is the same slice.
	Updates(weights []float32) []plan.Update
}

// Clip limits gradients before a step, like Keras's clipvalue, clipnorm and global_clipnorm. 0 is
// no bound; at most one is set. Optimizer.Step takes its slice for one param, a plan.Machine knows
// each.
type Clip = plan.Clip

func checkClip(c Clip) error {
	set := 0
	for _, bound := range []float32{c.Value, c.Norm, c.Global} {
		if bound < 0 || bound != bound {
			return fmt.Errorf("clip %g: expected a number above 0", bound)
		}
		if bound > 0 {
			set++
		}
	}
	if set > 1 {
		return errors.New("clip by value, by norm and by global norm: expected at most one of them")
	}
	return nil
}
