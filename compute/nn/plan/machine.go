package plan

import "github.com/stoker-ml/stoker/compute/kernel"

// Machine runs a Plan: on this computer's cores, or on a device. Not for concurrent use.
//
// A machine on a device has a copy of every Bound buffer and of every optimizer's slots. It takes
// them when it is made or first hears of them, works on its own copies, and writes them back at
// Sync; what is changed here in between is lost, unless Push follows. On this computer's cores
// there is one memory, and Sync and Push do nothing.
type Machine interface {
	// Floats and Ints are the memory of an input, or of an output after a step. They stay the same
	// slices, so that data can be decoded right into them.
	Floats(buffer int) []float32
	Ints(buffer int) []int

	// Step runs the plan once, forward and back, and gives the loss. step, from 0, decides what
	// Dropout draws. It allocates nothing.
	Step(step uint64) (loss float32, err error)

	// Grads are the gradients of the last step, of Plan.Grads elements.
	Grads() []float32

	// Clip changes the gradients of the last step.
	Clip(Clip) error

	// Update changes params by their gradients.
	Update([]Update) error

	// Sync brings params and slots here; Push takes them from here anew.
	Sync() error
	Push() error

	Close() error
}

// Clip bounds gradients, as Keras's optimizers do; 0 is no bound. At most one is set.
type Clip struct {
	Value  float32 // each element is kept within -Value..Value
	Norm   float32 // each param's gradient is scaled to at most this L2 norm
	Global float32 // all gradients are scaled together to at most this L2 norm
}

// Update is one step of an optimizer over neighbouring params.
type Update struct {
	Rule    kernel.Rule
	Grads   Range     // of the gradients
	Weights []float32 // the params' memory, as long as the range
	Slots   [][]float32
}
