package cuda

import (
	"fmt"
	"math"

	"github.com/stoker-ml/stoker/compute/kernel"
	"github.com/stoker-ml/stoker/compute/nn/plan"
)

// compiler writes a plan's instructions as calls of a device.
type compiler struct {
	*Machine
	calls  []call
	node   string // the current instruction's
	number int    // its index in the plan
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

// fits refuses launches beyond CUDA's limits: 65535 blocks in the second dimension.
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

// kinds refuses ids where kernels expect numbers, and vice versa: only the tables' second operand
// is ids.
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

// onHost writes an operation of this computer, over memory of its own.
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

// staging allocates memory on this computer for one operand of one instruction.
func (c *compiler) staging(buffer int) (transfer, plan.Slice, error) {
	b := c.buffer(buffer)
	if b.Kind == plan.Int {
		here, err := c.pin(b.Len() * intBytes)
		return transfer{b.Name, here, c.at(buffer)}, plan.Slice{Ints: intsOf(here)}, err
	}
	here, err := c.pin(b.Len() * floatBytes)
	return transfer{b.Name, here, c.at(buffer)}, plan.Slice{Floats: floatsOf(here)}, err
}

// elements writes operations with a thread for each element.
func (c *compiler) elements(in plan.Instr) {
	out, to := c.buffer(in.Out), c.at(in.Out)
	n := out.Len()
	all := elements(n)
	switch in.Op {
	case plan.Map:
		c.launch(Map, all, to, c.at(in.In[0]), n, int(in.Func))
	case plan.Slope:
		c.launch(Slope, all, to, c.at(in.In[0]), c.at(in.In[1]), n, int(in.Func))
	case plan.Combine:
		c.launch(Combine, all, to, c.at(in.In[0]), c.at(in.In[1]), out.Rows, out.Cols, int(in.Binary), int(in.Shape), in.Swapped, scale(in))
	case plan.Repeat:
		c.launch(Repeat, all, to, c.at(in.In[0]), out.Rows, out.Cols, int(shapeOf(c.buffer(in.In[0]), out)))
	case plan.Copy:
		c.launch(Copy, all, to, c.at(in.In[0]), n, in.Add)
	case plan.Fill:
		c.launch(Fill, all, to, n, in.Value)
	case plan.Dropout:
		threshold := math.Ceil(float64(min(max(in.Rate, 0), 1)) * (1 << 24))
		c.launch(Dropout, elements(ceil(n, 4)), to, n, int(threshold), 1/(1-in.Rate), in.Seed, in.Stream, c.memory.state)
	}
}

// scale returns the factor of the result.
func scale(in plan.Instr) float32 {
	if in.Scale == 0 {
		return 1
	}
	return in.Scale
}

// shapeOf returns how x is broadcast over a matrix.
func shapeOf(x, matrix plan.Buffer) kernel.Shape {
	switch {
	case x.Len() == 1:
		return kernel.Scalar
	case x.Len() == matrix.Len():
		return kernel.Full
	case x.Cols == matrix.Cols:
		return kernel.Row
	}
	return kernel.Column
}

// rowsOf writes operations along rows, and sums.
func (c *compiler) rowsOf(in plan.Instr) {
	x := c.buffer(in.In[0])
	to, from := c.at(in.Out), c.at(in.In[0])
	own := rows(x.Rows)
	switch in.Op {
	case plan.Reduce:
		c.reduce(in)
	case plan.ReduceMax:
		c.launch(MaxColumns, own, to, from, x.Rows, x.Cols)
	case plan.Softmax:
		c.launch(Softmax, own, to, from, x.Rows, x.Cols)
	case plan.LogSoftmax:
		c.launch(LogSoftmax, own, to, from, x.Rows, x.Cols)
	case plan.SoftmaxSlope:
		c.launch(SoftmaxSlope, own, to, from, c.at(in.In[1]), x.Rows, x.Cols)
	case plan.LogSoftmaxSlope:
		c.launch(LogSoftmaxSlope, own, to, from, c.at(in.In[1]), x.Rows, x.Cols)
	}
}

func (c *compiler) reduce(in plan.Instr) {
	x := c.buffer(in.In[0])
	to, from := c.at(in.Out), c.at(in.In[0])
	switch in.Axis {
	case plan.Rows:
		c.launch(SumRows, columns(x.Cols), to, from, x.Rows, x.Cols, scale(in), in.Add)
	case plan.Cols:
		c.launch(SumColumns, rows(x.Rows), to, from, x.Rows, x.Cols, scale(in), in.Add)
	case plan.All:
		p := parts(x.Len())
		c.launch(SumParts, p, c.memory.parts, from, x.Len(), false)
		c.launch(SumFinish, oneBlock(elementBlock), to, c.memory.parts, p.grid.X, scale(in), in.Add)
	}
}

// table writes operations that look up ids.
func (c *compiler) table(in plan.Instr) {
	to, x, ids := c.at(in.Out), c.at(in.In[0]), c.at(in.In[1])
	out, status, number := c.buffer(in.Out), c.memory.status, c.number
	n := c.buffer(in.In[1]).Len()
	switch in.Op {
	case plan.Gather:
		table := c.buffer(in.In[0])
		c.launch(Gather, elements(n*table.Cols), to, x, ids, n, table.Cols, table.Rows, status, number)
	case plan.Scatter:
		c.clear(in)
		c.launch(Scatter, crowds(n), to, Pointer(0), ids, x, n, 1, out.Cols, out.Rows, status, number)
	case plan.Sparse:
		w, values := c.buffer(in.In[2]), c.buffer(in.In[0])
		c.launch(Sparse, elements(out.Len()), to, x, ids, c.at(in.In[2]), values.Rows, values.Cols, w.Cols, w.Rows, status, number)
	case plan.SparseSlope:
		c.clear(in)
		c.launch(Scatter, crowds(n), to, x, ids, c.at(in.In[2]), n, c.buffer(in.In[0]).Cols, out.Cols, out.Rows, status, number)
	}
}

// clear zeros a buffer that is added to, unless its content is to stay.
func (c *compiler) clear(in plan.Instr) {
	if n := c.buffer(in.Out).Len(); !in.Add {
		c.launch(Fill, elements(n), c.at(in.Out), n, float32(0))
	}
}

// shape writes operations that only move numbers.
func (c *compiler) shape(in plan.Instr) {
	out, x := c.buffer(in.Out), c.buffer(in.In[0])
	to, from := c.at(in.Out), c.at(in.In[0])
	switch in.Op {
	case plan.Concat:
		start := 0
		for _, i := range in.In {
			part := c.buffer(i)
			c.launch(Place, elements(part.Len()), to, c.at(i), out.Rows, part.Cols, out.Cols, start, part.Cols, 0)
			start += part.Cols
		}
	case plan.Columns:
		c.launch(Place, elements(out.Len()), to, from, out.Rows, out.Cols, out.Cols, 0, x.Cols, in.Start)
	case plan.Pad:
		c.launch(Pad, elements(out.Len()), to, from, out.Rows, out.Cols, x.Cols, in.Start)
	case plan.Transpose:
		c.launch(Transpose, tiles(x.Rows, x.Cols), to, from, x.Rows, x.Cols)
	}
}
