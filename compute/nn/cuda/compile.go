package cuda

import (
	"fmt"

	"github.com/stoker-ml/stoker/compute/kernel"
	"github.com/stoker-ml/stoker/compute/nn/plan"
)

// compiler writes a plan's instructions as calls of a device.
type compiler struct {
	*Machine
	calls  []call
	node   string // of the instruction that is written
	number int    // its place in the plan
	multi  Multiplier
}

// compile makes the calls of a step.
func (m *Machine) compile() error {
	c := &compiler{Machine: m, multi: m.gpu.device.Multiplier()}
	for i, in := range m.plan.Code {
		c.number, c.node = i, fmt.Sprintf("instruction %d (%s)", i, in.Node)
		if err := c.instr(in); err != nil {
			return fmt.Errorf("%s: %w", c.node, err)
		}
	}
	m.calls = c.calls
	mem := m.memory
	m.finish = call{launch: newLaunch("result of the step", Finish, oneBlock(1), mem.result, m.at(m.plan.Loss), mem.status)}
	m.clips = m.clipCalls()
	return m.fits(append(m.calls, m.finish))
}

// fits refuses launches beyond what CUDA allows: 65535 blocks downwards.
func (m *Machine) fits(calls []call) error {
	const most = 65535
	for _, c := range calls {
		if c.launch != nil && c.launch.Grid.Y > most {
			return fmt.Errorf("%s: %d blocks of rows, a GPU takes at most %d", c.launch.Node, c.launch.Grid.Y, most)
		}
	}
	return nil
}

// instr writes one instruction.
func (c *compiler) instr(in plan.Instr) error {
	if in.Op == plan.OnHost {
		return c.onHost(in)
	}
	if err := c.kinds(in); err != nil {
		return err
	}
	switch in.Op {
	case plan.Gemm:
		c.gemm(in)
	case plan.Map, plan.Slope, plan.Combine, plan.Repeat, plan.Copy, plan.Fill, plan.Dropout:
		c.elements(in)
	case plan.Reduce, plan.ReduceMax, plan.Softmax, plan.LogSoftmax, plan.SoftmaxSlope, plan.LogSoftmaxSlope:
		c.rowsOf(in)
	case plan.Gather, plan.Scatter, plan.Sparse, plan.SparseSlope:
		c.table(in)
	case plan.Concat, plan.Columns, plan.Pad, plan.Transpose:
		c.shape(in)
	default:
		return fmt.Errorf("operation %d has no kernel", in.Op)
	}
	return nil
}

// kinds refuses ids where kernels expect numbers, and the other way round: only the tables' second
// operand is ids.
func (c *compiler) kinds(in plan.Instr) error {
	table := in.Op == plan.Gather || in.Op == plan.Scatter || in.Op == plan.Sparse || in.Op == plan.SparseSlope
	if c.plan.Buffers[in.Out].Kind != plan.Float {
		return fmt.Errorf("the result is ids: no kernel makes them")
	}
	for i, b := range in.In {
		if ids := c.plan.Buffers[b].Kind == plan.Int; ids != (table && i == 1) {
			return fmt.Errorf("operand %d is of the wrong kind: expected %s", i, map[bool]string{true: "numbers", false: "ids"}[ids])
		}
	}
	return nil
}

// buffer is one of the plan.
func (c *compiler) buffer(i int) plan.Buffer { return c.plan.Buffers[i] }

func (c *compiler) gemm(in plan.Instr) {
	p, out, a := in.Product, c.buffer(in.Out), c.buffer(in.In[0])
	k := a.Cols
	if p.TransA {
		k = a.Rows
	}
	bias := Pointer(0)
	if len(in.In) > 2 {
		bias = c.at(in.In[2])
	}
	to, x, y := c.at(in.Out), c.at(in.In[0]), c.at(in.In[1])
	if c.multi == nil || k == 0 || out.Len() == 0 {
		c.launch(Gemm, productTiles(out.Rows, out.Cols), to, x, y, bias, out.Rows, out.Cols, k, p.TransA, p.TransB, p.Add, int(p.Then))
		return
	}
	c.calls = append(c.calls, call{product: &productCall{by: c.multi, node: c.node,
		Product: Product{C: to, A: x, B: y, M: out.Rows, N: out.Cols, K: k, TransA: p.TransA, TransB: p.TransB, AddToC: p.Add}}})
	if bias != 0 || p.Then != kernel.Identity {
		c.launch(Epilogue, elements(out.Len()), to, bias, out.Rows, out.Cols, int(p.Then))
	}
}

// onHost writes what this computer does, over memory of its own.
func (c *compiler) onHost(in plan.Instr) error {
	h := &hostCall{op: in.Host, node: c.node}
	for _, b := range in.In {
		here, slice, err := c.staging(b)
		if err != nil {
			return err
		}
		h.in, h.from = append(h.in, slice), append(h.from, here)
	}
	var err error
	h.to, h.out, err = c.staging(in.Out)
	c.calls = append(c.calls, call{host: h})
	return err
}

// staging is memory here for one operand of one instruction.
func (c *compiler) staging(buffer int) (transfer, plan.Slice, error) {
	b := c.buffer(buffer)
	if b.Kind == plan.Int {
		here, err := c.pin(b.Len() * intBytes)
		return transfer{b.Name, here, c.at(buffer)}, plan.Slice{Ints: intsOf(here)}, err
	}
	here, err := c.pin(b.Len() * floatBytes)
	return transfer{b.Name, here, c.at(buffer)}, plan.Slice{Floats: floatsOf(here)}, err
}
