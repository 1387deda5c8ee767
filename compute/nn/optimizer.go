package nn

import "fmt"

// Optimizer changes weights along their gradients, in one pass. Its state can be saved and put back, so that a training goes
// on from a checkpoint as if nothing had happened.
type Optimizer interface {
	// Name is Keras's, with momentum for SGD with momentum.
	Name() string
	// Step is one update of weights, in place. Both slices keep their length from call to call.
	Step(weights, grads []float32)
	// State is what Step remembers, not copied.
	State() OptimizerState
	// Restore puts a state back that State of an optimizer of the same name gave for as many weights.
	Restore(OptimizerState) error
}

// OptimizerState is what an optimizer remembers between steps.
type OptimizerState struct {
	Name       string
	Iterations int64
	Slots      [][]float32 // each as long as the weights, in the order the optimizer's comment names them; none before the first step
}

// DefaultLearningRate is Keras's for the optimizer of that name; NewOptimizer takes 0 for it.
func DefaultLearningRate(name string) float64 {
	if name == "sgd" || name == "momentum" {
		return 0.01
	}
	return 0.001
}

// maxLearningRate is where a rate is a mistake: whatever it is multiplied with is beyond float32 in a few steps.
const maxLearningRate = 1e6

// NewOptimizer finds an optimizer by name: sgd, momentum (0.9), adam, adagrad, ftrl, with Keras's defaults.
func NewOptimizer(name string, learningRate float64) (Optimizer, error) {
	if learningRate == 0 {
		learningRate = DefaultLearningRate(name)
	}
	if !(learningRate > 0) || learningRate > maxLearningRate {
		return nil, fmt.Errorf("learning rate %g: expected a number above 0, at most %g", learningRate, maxLearningRate)
	}
	switch name {
	case "sgd":
		return &SGD{LearningRate: learningRate}, nil
	case "momentum":
		return &Momentum{LearningRate: learningRate, Momentum: 0.9}, nil
	case "adam":
		return &Adam{LearningRate: learningRate, Beta1: 0.9, Beta2: 0.999, Epsilon: 1e-7}, nil
	case "adagrad":
		return &Adagrad{LearningRate: learningRate, InitialAccumulator: 0.1, Epsilon: 1e-7}, nil
	case "ftrl":
		return &FTRL{LearningRate: learningRate, InitialAccumulator: 0.1}, nil
	}
	return nil, fmt.Errorf("unknown optimizer %q: expected sgd, momentum, adam, adagrad or ftrl", name)
}

// slots is the memory that every optimizer here has: steps taken, and per slot one number a weight.
type slots struct {
	iterations int64
	values     [][]float32
}

// next counts a step, and makes count slots, filled with initial, before the first.
func (s *slots) next(count, size int, initial float32) {
	s.iterations++
	if s.values != nil || count == 0 {
		return
	}
	s.values = make([][]float32, count)
	for i := range s.values {
		s.values[i] = make([]float32, size)
		for j := range s.values[i] {
			s.values[i][j] = initial
		}
	}
}

func (s *slots) state(name string) OptimizerState {
	return OptimizerState{Name: name, Iterations: s.iterations, Slots: s.values}
}

func (s *slots) restore(name string, count int, from OptimizerState) error {
	if from.Name != name {
		return fmt.Errorf("state is of optimizer %q, expected %q", from.Name, name)
	}
	if len(from.Slots) != count && len(from.Slots) != 0 {
		return fmt.Errorf("state of optimizer %q has %d slots, expected %d", name, len(from.Slots), count)
	}
	s.iterations, s.values = from.Iterations, nil
	for _, slot := range from.Slots {
		s.values = append(s.values, append([]float32(nil), slot...))
	}
	return nil
}
