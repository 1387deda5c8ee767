package plan

import (
	"fmt"

	"github.com/stoker-ml/stoker/compute/kernel"
)

// cpu is the Machine of this computer's cores.
type cpu struct {
	plan  *Plan
	rows  int // rows of the batch, if the plan has one
	pool  *kernel.ThreadPool
	arena Slice
	mem   []Slice // of each buffer
	tasks []task
	grads []float32
}

// task is an instruction with its memory.
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

// NewMachine runs p on this computer's cores, with the threads of pool; nil is the caller's alone.
// Close does not close the pool.
func NewMachine(p *Plan, pool *kernel.ThreadPool) Machine {
	m := &cpu{plan: p, pool: pool}
	m.allocate()
	m.bind()
	return m
}

func (m *cpu) allocate() {
	p := m.plan
	m.arena = Slice{Floats: make([]float32, p.Floats), Ints: make([]int, p.Ints), Strings: make([][]byte, p.Strings)}
	m.grads = make([]float32, p.Grads)
	m.mem, m.tasks = make([]Slice, len(p.Buffers)), make([]task, len(p.Code))
}

// bind looks up the memory of all buffers and instructions, for the number of rows.
func (m *cpu) bind() {
	for i := range m.plan.Buffers {
		m.mem[i] = m.memory(&m.plan.Buffers[i])
	}
	for i := range m.tasks {
		m.bindTask(&m.tasks[i], &m.plan.Code[i])
	}
}

// rowsOf returns the rows of a buffer, which depend on the current number of rows if it is a
// batch's.
func (m *cpu) rowsOf(b *Buffer) int {
	if m.plan.Batch == 0 || b.Home != Arena {
		return b.Rows
	}
	return b.Rows / m.plan.Batch * m.rows
}

func (m *cpu) memory(b *Buffer) Slice {
	n := m.rowsOf(b) * b.Cols
	to := b.At + n
	switch {
	case b.Home == Bound:
		return Slice{Floats: b.Data[:n:n]}
	case b.Home == Grads:
		return Slice{Floats: m.grads[b.At:to:to]}
	case b.Kind == Int:
		return Slice{Ints: m.arena.Ints[b.At:to:to]}
	case b.Kind == String:
		return Slice{Strings: m.arena.Strings[b.At:to:to]}
	}
	return Slice{Floats: m.arena.Floats[b.At:to:to]}
}

func (m *cpu) bindTask(t *task, i *Instr) {
	out := &m.plan.Buffers[i.Out]
	*t = task{Instr: i, result: m.mem[i.Out], out: m.mem[i.Out].Floats, rows: m.rowsOf(out), cols: out.Cols, product: i.Product,
		in: t.in[:0], widths: t.widths[:0], scale: t.scale}
	for n, index := range i.In {
		s, b := m.mem[index], &m.plan.Buffers[index]
		t.in = append(t.in, s)
		t.widths = append(t.widths, b.Cols)
		if s.Ints != nil {
			t.ids = s.Ints
		}
		switch n {
		case 0:
			t.x, t.xRows, t.xCols = s.Floats, m.rowsOf(b), b.Cols
		case 1:
			t.y = s.Floats
		case 2:
			t.z = s.Floats
		}
	}
	if t.scale == nil && i.Scale != 0 && i.Scale != 1 {
		t.scale = []float32{i.Scale}
	}
	if i.Op == Gemm {
		b := &m.plan.Buffers[i.In[1]]
		t.a, t.b = kernel.NewMatrix(t.x, t.xRows, t.xCols), kernel.NewMatrix(t.y, m.rowsOf(b), b.Cols)
		t.c = kernel.NewMatrix(t.out, t.rows, t.cols)
		t.product.Bias = t.z
	}
}

func (m *cpu) Floats(buffer int) []float32 { return m.mem[buffer].Floats }
func (m *cpu) Ints(buffer int) []int       { return m.mem[buffer].Ints }
func (m *cpu) Grads() []float32            { return m.grads }
func (m *cpu) Sync() error                 { return nil }
func (m *cpu) Push() error                 { return nil }
func (m *cpu) Close() error                { return nil }

// Step implements Machine.
func (m *cpu) Step(step uint64) (float32, error) {
	if err := m.compute(step); err != nil {
		return 0, fmt.Errorf("run plan: %w", err)
	}
	return m.mem[m.plan.Loss].Floats[0], nil
}

// compute executes the instructions in their order.
func (m *cpu) compute(step uint64) error {
	for i := range m.tasks {
		if err := m.run(&m.tasks[i], step); err != nil {
			return err
		}
	}
	return nil
}

func (m *cpu) run(t *task, step uint64) error {
	k := m.pool
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
		return m.lookUp(t)
	}
	return nil
}

func (m *cpu) reduce(t *task) {
	switch t.Axis {
	case All:
		t.out[0] = m.pool.Sum(t.x)
	case Rows:
		m.pool.SumRows(t.out, t.x, t.xRows, t.xCols, t.Add)
	case Cols:
		m.pool.SumColumns(t.out, t.x, t.xRows, t.xCols)
	}
}

func (m *cpu) scale(t *task) {
	if t.scale != nil {
		m.pool.Combine(kernel.Mul, t.out, t.out, t.scale, kernel.Scalar, 1, len(t.out), false)
	}
}

// Clip implements Machine.
func (m *cpu) Clip(c Clip) error {
	switch {
	case c.Value > 0:
		m.pool.ClipValue(m.grads, c.Value)
	case c.Norm > 0:
		for _, p := range m.plan.Params {
			m.pool.ClipNorm(m.grads[p.From:p.To], c.Norm)
		}
	case c.Global > 0:
		m.pool.ClipNorm(m.grads, c.Global)
	}
	return nil
}

// Update changes weights in place.
func (m *cpu) Update(updates []Update) error {
	for i := range updates {
		u := &updates[i]
		m.pool.Update(u.Rule, u.Weights, m.grads[u.Grads.From:u.Grads.To], u.Slots)
	}
	return nil
}

// lookUp executes the instructions that look up rows, and those that only move numbers.
func (m *cpu) lookUp(t *task) error {
	k := m.pool
	switch t.Op {
	case Gather:
		if err := within(t, t.xRows); err != nil {
			return err
		}
		k.Gather(t.out, t.x, t.ids, t.cols)
	case Scatter:
		if err := within(t, t.rows); err != nil {
			return err
		}
		t.clear()
		k.ScatterAdd(t.out, t.x, t.ids, t.cols)
	case Sparse, SparseSlope:
		return m.sparse(t)
	default:
		return t.move()
	}
	return nil
}

// within returns an error for an id that a table of so many rows lacks.
func within(t *task, rows int) error {
	for i, id := range t.ids {
		if uint(id) >= uint(rows) {
			return t.outside(i, rows)
		}
	}
	return nil
}

func (t *task) outside(at, rows int) error {
	return &IndexError{Node: t.Node, At: at, ID: t.ids[at], Rows: rows}
}

// sparse leaves it to the kernel to find an id beyond the table, because there are many ids with
// little work for each.
func (m *cpu) sparse(t *task) (err error) {
	if t.Op == Sparse {
		defer t.beyond(m.plan.Buffers[t.In[2]].Rows, &err)
		m.pool.SparseGemm(t.out, t.x, t.ids, t.z, t.rows, t.xCols, t.cols)
		return nil
	}
	defer t.beyond(t.rows, &err)
	t.clear()
	m.pool.SparseGemmSlope(t.out, t.x, t.ids, t.z, t.xRows, t.xCols, t.cols)
	return nil
}

// beyond, deferred, converts a kernel's panic to an error if an id is the reason.
func (t *task) beyond(rows int, err *error) {
	why := recover()
	if why == nil {
		return
	}
	for i, id := range t.ids {
		if id >= rows {
			*err = t.outside(i, rows)
			return
		}
	}
	panic(why)
}

func (t *task) clear() {
	if !t.Add {
		clear(t.out)
	}
}

// move executes instructions that only copy numbers.
func (t *task) move() error {
	switch t.Op {
	case Repeat:
		t.repeat()
	case Concat:
		t.concat()
	case Columns:
		for r := range t.rows {
			copy(t.out[r*t.cols:(r+1)*t.cols], t.x[r*t.xCols+t.Start:])
		}
	case Pad:
		clear(t.out)
		for r := range t.rows {
			copy(t.out[r*t.cols+t.Start:], t.x[r*t.xCols:(r+1)*t.xCols])
		}
	case Transpose:
		t.transpose()
	case Copy:
		t.copy()
	case Fill:
		fill(t.out, t.Value)
	default:
		return fmt.Errorf("%s: there is no operation %d", t.Node, t.Op)
	}
	return nil
}

func fill(to []float32, x float32) {
	for i := range to {
		to[i] = x
	}
}

func (t *task) repeat() {
	switch {
	case len(t.x) == 1:
		fill(t.out, t.x[0])
	case t.xRows == 1:
		for r := range t.rows {
			copy(t.out[r*t.cols:], t.x)
		}
	default:
		for r := range t.rows {
			fill(t.out[r*t.cols:(r+1)*t.cols], t.x[r])
		}
	}
}

func (t *task) concat() {
	at := 0
	for i, in := range t.in {
		w := t.widths[i]
		for r := range t.rows {
			copy(t.out[r*t.cols+at:], in.Floats[r*w:(r+1)*w])
		}
		at += w
	}
}

func (t *task) transpose() {
	for r := range t.rows {
		row := t.out[r*t.cols : (r+1)*t.cols]
		for c := range row {
			row[c] = t.x[c*t.rows+r]
		}
	}
}

func (t *task) copy() {
	if !t.Add {
		copy(t.out, t.x)
		return
	}
	for i, x := range t.x {
		t.out[i] += x
	}
}
