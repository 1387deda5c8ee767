package cuda

import (
	"errors"
	"fmt"

	"github.com/stoker-ml/stoker/compute/nn/plan"
)

// Machine runs a Plan on a GPU. All its results stay there; only inputs, outputs and the loss, and
// the operands and results of operations without a kernel, are copied in a step.
//
// Results differ from those of this computer's cores in their last bits, and never between two runs
// on the same kind of GPU.
type Machine struct {
	gpu    *GPU
	plan   *plan.Plan
	mirror mirror
	memory machineMemory
	feeds  []transfer // copied before a step
	reads  []transfer // copied after it
	calls  []call
	finish call

	host      map[int]plan.Slice // of inputs and outputs
	pinned    [][]byte
	state     []uint64  // [1]: the number of the step
	result    []float32 // loss and status
	grads     []float32
	clips     clipCalls
	updates   map[updateKey]*updateCalls
	broken    error // error of a step or of reading gradients, after which every call fails
	gradsHere bool
}

// machineMemory is the memory that a Machine has allocated on its device.
type machineMemory struct {
	floats, ints, grads Pointer
	state, result       Pointer // the step's number; loss and status, as finish writes them
	status              Pointer
	parts, norm         Pointer // of sums
}

// transfer is a copy between this computer and the device.
type transfer struct {
	name string
	here []byte
	at   Pointer
}

func newMachine(g *GPU, p *plan.Plan) (*Machine, error) {
	m := &Machine{gpu: g, plan: p, mirror: mirror{gpu: g}, host: map[int]plan.Slice{}, updates: map[updateKey]*updateCalls{}}
	for _, prepare := range []func() error{m.check, m.reserve, m.bind, m.lend, m.compile, g.device.Sync} {
		if err := prepare(); err != nil {
			return nil, errors.Join(err, m.Close())
		}
	}
	return m, nil
}

// Floats implements plan.Machine.
func (m *Machine) Floats(buffer int) []float32 { return m.host[buffer].Floats }

// Ints implements plan.Machine.
func (m *Machine) Ints(buffer int) []int { return m.host[buffer].Ints }

// Step implements plan.Machine.
func (m *Machine) Step(step uint64) (loss float32, err error) {
	if m.broken != nil {
		return 0, m.broken
	}
	m.gradsHere = false
	m.state[0] = step
	if err := m.run(); err != nil {
		return 0, m.breakBy(err)
	}
	if status := m.status(); status != 0 {
		return 0, m.outside(int(status) - 1)
	}
	return m.result[0], nil
}

func (m *Machine) run() error {
	d := m.gpu.device
	for i := range m.feeds {
		if err := d.Upload(m.feeds[i].at, m.feeds[i].here); err != nil {
			return fmt.Errorf("copy input %s to %s: %w", m.feeds[i].name, d.Name(), err)
		}
	}
	for i := range m.calls {
		if err := m.calls[i].do(d); err != nil {
			return err
		}
	}
	if err := m.finish.do(d); err != nil {
		return err
	}
	for i := range m.reads {
		if err := d.Download(m.reads[i].here, m.reads[i].at); err != nil {
			return fmt.Errorf("copy %s from %s: %w", m.reads[i].name, d.Name(), err)
		}
	}
	return nil
}

func (m *Machine) breakBy(err error) error {
	m.broken = fmt.Errorf("GPU %s: %w", m.gpu.Name(), err)
	return m.broken
}

// Grads implements plan.Machine. It copies them from the device. If that fails, the next call
// returns the error.
func (m *Machine) Grads() []float32 {
	if m.gradsHere || m.broken != nil {
		return m.grads
	}
	if err := m.gpu.device.Download(bytesOfFloats(m.grads), m.memory.grads); err != nil {
		// Returned by the next call.
		_ = m.breakBy(fmt.Errorf("copy gradients from the device: %w", err))
	}
	m.gradsHere = true
	return m.grads
}

// Sync implements plan.Machine.
func (m *Machine) Sync() error {
	if m.broken != nil {
		return m.broken
	}
	return m.mirror.pull()
}

// Push implements plan.Machine.
func (m *Machine) Push() error {
	if m.broken != nil {
		return m.broken
	}
	return m.mirror.push()
}

// Close implements plan.Machine. It does not copy anything to this computer.
func (m *Machine) Close() error {
	errs := []error{m.mirror.close()}
	mem := m.memory
	m.memory = machineMemory{}
	for _, at := range []Pointer{mem.floats, mem.ints, mem.grads, mem.state, mem.result, mem.status, mem.parts, mem.norm} {
		if at != 0 {
			errs = append(errs, m.gpu.free(at))
		}
	}
	for _, b := range m.pinned {
		errs = append(errs, m.gpu.device.FreeHost(b))
	}
	m.pinned = nil
	m.broken = errors.New("the machine is closed")
	return errors.Join(errs...)
}
