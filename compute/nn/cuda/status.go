package cuda

import (
	"fmt"
	"math"

	"github.com/stoker-ml/stoker/compute/nn/plan"
)

// status is what the kernels of a step complained of: 0, or 1 + the number of an instruction.
func (m *Machine) status() int32 { return int32(math.Float32bits(m.result[1])) }

// outside reports an id that a table doesn't have. The step's result is of no use; the next one
// begins anew.
func (m *Machine) outside(number int) error {
	if err := m.gpu.device.Upload(m.memory.status, make([]byte, 4)); err != nil {
		return m.breakBy(err)
	}
	if err := m.gpu.device.Sync(); err != nil {
		return m.breakBy(err)
	}
	in := m.plan.Code[number]
	height := m.plan.Buffers[m.tableOf(in)].Rows
	ids := m.host[in.In[1]].Ints
	for i, id := range ids {
		sparse := in.Op == plan.Sparse || in.Op == plan.SparseSlope
		if id >= height || id < 0 && !sparse {
			return fmt.Errorf("%s: id %d of %s, place %d, is not in a table of %d rows", in.Node, id, m.plan.Buffers[in.In[1]].Name, i, height)
		}
	}
	return fmt.Errorf("%s: an id of %s is not in a table of %d rows", in.Node, m.plan.Buffers[in.In[1]].Name, height)
}

// tableOf is the buffer that ids are of.
func (m *Machine) tableOf(in plan.Instr) int {
	switch in.Op {
	case plan.Gather:
		return in.In[0]
	case plan.Sparse:
		return in.In[2]
	}
	return in.Out
}
