package plan

import (
	"fmt"

	"github.com/stoker-ml/stoker/compute/kernel"
)

// cpu is the Machine of this computer's cores.
type cpu struct {
	plan  *Plan
	team  *kernel.Team
	mem   []Slice // of each buffer
	tasks []task
	loss  []float32
	grads []float32
}

// task is an instruction with its memory found.
type task struct {
	*Instr
	out        []float32
	x, y, z    []float32
	ids        []int
	rows, cols int // of out
	xCols      int
	xRows      int
	a, b, c    kernel.Matrix
	product    kernel.Product
	in         []Slice
	widths     []int
	result     Slice
	scale      []float32 // one number; nil for 1
}

// NewMachine runs p on this computer's cores, with the threads of team, which may be nil: the caller's alone. It does not close the
// team.
func NewMachine(p *Plan, team *kernel.Team) Machine {
	m := &cpu{plan: p, team: team, grads: make([]float32, p.Grads)}
	floats, ints := make([]float32, p.Floats), make([]int, p.Ints)
	for _, b := range p.Buffers {
		m.mem = append(m.mem, m.memory(b, floats, ints))
	}
	m.tasks = make([]task, len(p.Code))
	for i := range p.Code {
		m.tasks[i] = m.task(&p.Code[i])
	}
	m.loss = m.mem[p.Loss].Floats
	return m
}

func (m *cpu) memory(b Buffer, floats []float32, ints []int) Slice {
	to := b.At + b.Len()
	switch {
	case b.Home == Bound:
		return Slice{Floats: b.Data[:b.Len():b.Len()]}
	case b.Home == Grads:
		return Slice{Floats: m.grads[b.At:to:to]}
	case b.Kind == Int:
		return Slice{Ints: ints[b.At:to:to]}
	}
	return Slice{Floats: floats[b.At:to:to]}
}

func (m *cpu) task(i *Instr) task {
	out := m.plan.Buffers[i.Out]
	t := task{Instr: i, result: m.mem[i.Out], out: m.mem[i.Out].Floats, rows: out.Rows, cols: out.Cols, product: i.Product}
	for n, index := range i.In {
		s := m.mem[index]
		t.in = append(t.in, s)
		t.widths = append(t.widths, m.plan.Buffers[index].Cols)
		if s.Ints != nil {
			t.ids = s.Ints
		}
		switch n {
		case 0:
			t.x, t.xRows, t.xCols = s.Floats, m.plan.Buffers[index].Rows, m.plan.Buffers[index].Cols
		case 1:
			t.y = s.Floats
		case 2:
			t.z = s.Floats
		}
	}
	if i.Scale != 0 && i.Scale != 1 {
		t.scale = []float32{i.Scale}
	}
	if i.Op == Gemm {
		a, b := m.plan.Buffers[i.In[0]], m.plan.Buffers[i.In[1]]
		t.a, t.b = kernel.NewMatrix(t.x, a.Rows, a.Cols), kernel.NewMatrix(t.y, b.Rows, b.Cols)
		t.c = kernel.NewMatrix(t.out, out.Rows, out.Cols)
		t.product.Bias = t.z
	}
	return t
}

func (m *cpu) Floats(buffer int) []float32 { return m.mem[buffer].Floats }
func (m *cpu) Ints(buffer int) []int       { return m.mem[buffer].Ints }
func (m *cpu) Grads() []float32            { return m.grads }
func (m *cpu) Sync() error                 { return nil }
func (m *cpu) Push() error                 { return nil }
func (m *cpu) Close() error                { return nil }

// Step runs the instructions in their order.
func (m *cpu) Step(step uint64) (float32, error) {
	for i := range m.tasks {
		t := &m.tasks[i]
		if err := m.run(t, step); err != nil {
			return 0, fmt.Errorf("run plan: %w", err)
		}
	}
	return m.loss[0], nil
}

func (m *cpu) run(t *task, step uint64) error {
	k := m.team
	switch t.Op {
	case Gemm:
		k.Gemm(t.c, t.a, t.b, t.product)
	case Map:
		k.Map(t.Func, t.out, t.x)
	case Slope:
		k.Slope(t.Func, t.out, t.x, t.y)
	case Combine:
		k.Combine(t.Binary, t.out, t.x, t.y, t.Shape, t.rows, t.cols, t.Swapped)
		m.scale(t)
	case Reduce:
		m.reduce(t)
		m.scale(t)
	case ReduceMax:
		k.MaxColumns(t.out, nil, t.x, t.xRows, t.xCols)
	case Softmax:
		k.Softmax(t.out, t.x, t.rows, t.cols)
	case LogSoftmax:
		k.LogSoftmax(t.out, t.x, t.rows, t.cols)
	case SoftmaxSlope:
		k.SoftmaxSlope(t.out, t.x, t.y, t.rows, t.cols)
	case LogSoftmaxSlope:
		k.LogSoftmaxSlope(t.out, t.x, t.y, t.rows, t.cols)
	case Dropout:
		k.Dropout(t.out, t.Rate, t.Seed, t.Stream, step)
	case OnHost:
		return t.Host.Do(t.result, t.in)
	default:
		return m.look(t)
	}
	return nil
}

func (m *cpu) reduce(t *task) {
	switch t.Axis {
	case All:
		t.out[0] = m.team.Sum(t.x)
	case Rows:
		m.team.SumRows(t.out, t.x, t.xRows, t.xCols, t.Add)
	case Cols:
		m.team.SumColumns(t.out, t.x, t.xRows, t.xCols)
	}
}

func (m *cpu) scale(t *task) {
	if t.scale != nil {
		m.team.Combine(kernel.Mul, t.out, t.out, t.scale, kernel.Scalar, 1, len(t.out), false)
	}
}
