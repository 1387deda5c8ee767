package cuda

import (
	"cmp"
	"fmt"
	"maps"
	"math"
	"slices"

	"github.com/stoker-ml/stoker/compute/nn/plan"
)

// check refuses plans whose numbers don't fit into the kernels' 31 bits.
func (m *Machine) check() error {
	for i, b := range m.plan.Buffers {
		if b.Len() > math.MaxInt32 {
			return fmt.Errorf("buffer %d (%s) has %d elements: a kernel counts to %d", i, b.Name, b.Len(), math.MaxInt32)
		}
	}
	return nil
}

// reserve allocates the plan's arenas, and the memory that every step needs.
func (m *Machine) reserve() error {
	p, mem := m.plan, &m.memory
	for _, r := range []struct {
		what  string
		bytes int
		at    *Pointer
	}{
		{"the plan's numbers", p.Floats * floatBytes, &mem.floats},
		{"the plan's ids", p.Ints * intBytes, &mem.ints},
		{"gradients", p.Grads * floatBytes, &mem.grads},
		{"the step's number", 8, &mem.state},
		{"the step's result", 8, &mem.result},
		{"the step's status", 4, &mem.status},
		{"partial sums", maxParts * 8, &mem.parts},
		{"a norm", 8, &mem.norm},
	} {
		at, err := m.gpu.alloc(r.what, int64(r.bytes))
		if err != nil {
			return err
		}
		*r.at = at
	}
	m.grads = make([]float32, p.Grads)
	return nil
}

// bind copies params and constants to the device.
func (m *Machine) bind() error {
	var params, constants [][]float32
	for i, b := range m.plan.Buffers {
		if b.Home != plan.Bound {
			continue
		}
		if b.Kind != plan.Float || len(b.Data) < b.Len() {
			return fmt.Errorf("buffer %d (%s) is bound to %d floats, expected %d", i, b.Name, len(b.Data), b.Len())
		}
		if b.Param {
			params = append(params, b.Data[:b.Len()])
		} else {
			constants = append(constants, b.Data[:b.Len()])
		}
	}
	if err := m.mirror.add("params", true, params...); err != nil {
		return err
	}
	return m.mirror.add("constants", false, constants...)
}

// lend allocates this computer's memory of inputs, outputs, the step's number and its result.
func (m *Machine) lend() error {
	for _, name := range slices.Sorted(maps.Keys(m.plan.Inputs)) {
		t, err := m.lendBuffer(name, m.plan.Inputs[name])
		if err != nil {
			return err
		}
		m.feeds = append(m.feeds, t)
	}
	state, err := m.pin(8)
	if err != nil {
		return err
	}
	m.state = wordsOf(state)
	m.feeds = append(m.feeds, transfer{"step", state, m.memory.state})
	result, err := m.pin(8)
	if err != nil {
		return err
	}
	m.result = floatsOf(result)
	m.reads = append(m.reads, transfer{"the loss", result, m.memory.result})
	for _, name := range slices.Sorted(maps.Keys(m.plan.Outputs)) {
		t, err := m.lendBuffer(name, m.plan.Outputs[name])
		if err != nil {
			return err
		}
		m.reads = append(m.reads, t)
	}
	return m.gpu.device.Upload(m.memory.status, make([]byte, 4))
}

// lendBuffer allocates this computer's memory of a buffer, once.
func (m *Machine) lendBuffer(name string, buffer int) (transfer, error) {
	b := m.plan.Buffers[buffer]
	if s, known := m.host[buffer]; known {
		return transfer{cmp.Or(name, b.Name), bytesOfSlice(s), m.at(buffer)}, nil
	}
	width := floatBytes
	if b.Kind == plan.Int {
		width = intBytes
	}
	here, err := m.pin(b.Len() * width)
	if err != nil {
		return transfer{}, err
	}
	if b.Kind == plan.Int {
		m.host[buffer] = plan.Slice{Ints: intsOf(here)}
	} else {
		m.host[buffer] = plan.Slice{Floats: floatsOf(here)}
	}
	return transfer{cmp.Or(name, b.Name), here, m.at(buffer)}, nil
}

func (m *Machine) pin(bytes int) ([]byte, error) {
	b, err := m.gpu.device.AllocHost(int64(bytes))
	if err != nil {
		return nil, fmt.Errorf("reserve %s of this computer's memory for %s: %w", size(int64(bytes)), m.gpu.Name(), err)
	}
	m.pinned = append(m.pinned, b)
	return b, nil
}

func bytesOfSlice(s plan.Slice) []byte {
	if s.Ints != nil {
		return bytesOfInts(s.Ints)
	}
	return bytesOfFloats(s.Floats)
}

// at returns the device's address of a buffer.
func (m *Machine) at(buffer int) Pointer {
	b := m.plan.Buffers[buffer]
	switch {
	case b.Home == plan.Bound:
		at, _ := m.mirror.find(b.Data[:b.Len()])
		return at
	case b.Home == plan.Grads:
		return m.memory.grads.floats(b.At)
	case b.Kind == plan.Int:
		return m.memory.ints.ints(b.At)
	}
	return m.memory.floats.floats(b.At)
}
