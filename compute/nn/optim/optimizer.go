package optim

import (
	"errors"
	"fmt"
	"strings"

	"github.com/stoker-ml/stoker/compute/nn/plan"
)

// Optimizer changes weights along their gradients, in one pass. Its state can be saved and put back, so that a training goes
// on from a checkpoint as if nothing had happened.
type Optimizer interface {
	// Name is Keras's, with momentum and nesterov for SGD with those.
	Name() string
	// Step is one update of weights, in place. Both slices keep their length from call to call. It may change grads.
	Step(weights, grads []float32)
	// State is what Step remembers, not copied.
	State() State
	// Restore puts a state back that State of an optimizer of the same name gave for as many weights.
	Restore(State) error
}

// State is what an optimizer remembers between steps. Settings and the numbers of its formula are none of it.
type State struct {
	Name       string
	Iterations int64
	Slots      [][]float32 // each as long as the weights, in the order the optimizer's comment names them; none before the first step
}

// Settings are what Keras's optimizers take besides the numbers of their own formulas.
type Settings struct {
	Schedule Schedule `json:"learning_rate_schedule,omitempty"` // of the learning rate; nil: the optimizer's LearningRate in every step
	Clip     Clip     `json:"-"`                                // of the gradients, before anything else is done with them
}

// WithSettings gives s to an optimizer of this package, and returns it. In Parts each optimizer may have a
// Schedule of its own, and keeps it where s has none; Clip bounds the gradients of all.
func WithSettings(o Optimizer, s Settings) (Optimizer, error) {
	if err := checkClip(s.Clip); err != nil {
		return nil, err
	}
	configured, ok := o.(interface{ configure(Settings) })
	if !ok {
		return nil, fmt.Errorf("optimizer %q is none that optim.New knows", o.Name())
	}
	configured.configure(s)
	return o, nil
}

func (s *Settings) configure(to Settings) { *s = to }

func (s *Settings) settings() *Settings { return s }

// rate is the learning rate of step t, from 1. Keras counts the steps of a schedule from 0.
func (s *Settings) rate(constant float64, t int64) float64 {
	if s.Schedule == nil {
		return constant
	}
	return s.Schedule.Rate(t - 1)
}

// Names returns the names that New knows.
func Names() []string {
	return []string{"sgd", "momentum", "nesterov", "adam", "adamw", "adagrad", "rmsprop", "ftrl"}
}

// DefaultLearningRate is Keras's for the optimizer of that name; New takes 0 for it.
func DefaultLearningRate(name string) float64 {
	switch name {
	case "sgd", "momentum", "nesterov":
		return 0.01
	}
	return 0.001
}

// maxLearningRate is where a rate is a mistake: whatever it is multiplied with is beyond float32 in a few steps.
const maxLearningRate = 1e6

// New finds an optimizer by name: sgd, momentum and nesterov (both 0.9), adam, adamw, adagrad, rmsprop, ftrl, with
// Keras's defaults.
func New(name string, learningRate float64) (Optimizer, error) {
	if learningRate == 0 {
		learningRate = DefaultLearningRate(name)
	}
	if !(learningRate > 0) || learningRate > maxLearningRate {
		return nil, fmt.Errorf("learning rate %g: expected a number above 0, at most %g", learningRate, maxLearningRate)
	}
	switch name {
	case "sgd":
		return &SGD{LearningRate: learningRate}, nil
	case "momentum", "nesterov":
		return &Momentum{LearningRate: learningRate, Momentum: 0.9, Nesterov: name == "nesterov"}, nil
	case "adam":
		return &Adam{LearningRate: learningRate, Beta1: 0.9, Beta2: 0.999, Epsilon: 1e-7}, nil
	case "adamw":
		return &AdamW{Adam: Adam{LearningRate: learningRate, Beta1: 0.9, Beta2: 0.999, Epsilon: 1e-7}, WeightDecay: 0.004}, nil
	case "adagrad":
		return &Adagrad{LearningRate: learningRate, InitialAccumulator: 0.1, Epsilon: 1e-7}, nil
	case "rmsprop":
		return &RMSprop{LearningRate: learningRate, Rho: 0.9, Epsilon: 1e-7}, nil
	case "ftrl":
		return &FTRL{LearningRate: learningRate, InitialAccumulator: 0.1}, nil
	}
	known := Names()
	last := len(known) - 1
	return nil, fmt.Errorf("unknown optimizer %q: expected %s or %s", name, strings.Join(known[:last], ", "), known[last])
}

// Clipping is Updater's.
func (s *Settings) Clipping() Clip { return s.Clip }

// Updater is an Optimizer that can say a step instead of taking it, for a plan.Machine that keeps weights and slots: all of this package
// are.
type Updater interface {
	Optimizer
	// Clipping is the bound for the gradients that comes before the updates.
	Clipping() Clip
	// Updates counts a step and says what it does: Update.Grads are ranges of weights. After the first call they are the same, but for
	// the rules, as long as weights is.
	Updates(weights []float32) []plan.Update
}

// Clip bounds gradients before a step, as Keras's clipvalue, clipnorm and global_clipnorm; 0 is no bound, and at most one is set.
// Step of an optimizer takes its slice for one param; a plan.Machine knows where each begins.
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
