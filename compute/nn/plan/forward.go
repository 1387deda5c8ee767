package plan

import "fmt"

// Forward writes the plan of a forward pass without Gorgonia. Each value is a matrix with a row for
// every row of the batch, or a few neighboring ones. A Runner computes the plan.
type Forward struct {
	c       *compiler
	batch   int
	outputs map[string]*value
}

// Operand is a value in a Forward.
type Operand struct{ v *value }

// NewForward begins a plan for up to batch rows, at least 1.
func NewForward(batch int) *Forward {
	return &Forward{c: newCompiler(), batch: batch, outputs: map[string]*value{}}
}

// Input declares an operand that is written before each run.
func (f *Forward) Input(name string, kind Kind, cols int) Operand {
	v := &value{source: input, kind: kind, rows: f.batch, cols: cols, label: name, name: name}
	f.c.inputs = append(f.c.inputs, v)
	return Operand{v}
}

// Param declares a matrix in the caller's memory, which the plan reads in place.
func (f *Forward) Param(name string, data []float32, rows, cols int) Operand {
	v := &value{source: bound, data: data, param: true, rows: rows, cols: cols, label: name, name: name}
	return Operand{f.c.number(v)}
}

// Do computes op, whose result has rowsPer rows for each of the batch; node names it in errors.
func (f *Forward) Do(node string, op Op, attr Attr, rowsPer, cols int, in ...Operand) Operand {
	return Operand{f.c.make(node, op, attr, f.batch*rowsPer, cols, values(in)...)}
}

// OnHost computes a value of a kind with h.
func (f *Forward) OnHost(node string, h Host, kind Kind, cols int, in ...Operand) Operand {
	v := f.c.make(node, OnHost, Attr{Host: h}, f.batch, cols, values(in)...)
	v.kind = kind
	return Operand{v}
}

// Flat puts the rows that belong to a row of the batch side by side.
func (f *Forward) Flat(x Operand) Operand {
	return Operand{f.c.reshaped(x.v, f.batch, x.v.len()/f.batch)}
}

// Keep makes x an output: it can be read after each run.
func (f *Forward) Keep(name string, x Operand) { f.outputs[name] = x.v }

// Plan compiles the operations that the outputs need.
func (f *Forward) Plan() *Plan {
	r := &roots{outputs: f.outputs}
	f.c.fuse(r)
	p := f.c.emit(r)
	p.Batch = f.batch
	return p
}

func values(in []Operand) []*value {
	all := make([]*value, len(in))
	for i, x := range in {
		all[i] = x.v
	}
	return all
}

// Runner computes the plan of a Forward on the caller's thread. It is for one goroutine at a time.
type Runner struct {
	cpu
}

// NewRunner makes a Runner, which starts with no rows.
func NewRunner(p *Plan) *Runner {
	r := &Runner{cpu: cpu{plan: p}}
	r.allocate()
	r.Resize(0)
	return r
}

// Resize sets the number of rows, at most Plan.Batch. It changes what Floats, Ints and Strings
// return.
func (r *Runner) Resize(rows int) {
	if rows > r.plan.Batch {
		panic(fmt.Sprintf("plan: %d rows, the plan is for %d", rows, r.plan.Batch))
	}
	r.rows = rows
	r.bind()
}

// Strings returns the memory of a buffer of strings.
func (r *Runner) Strings(buffer int) [][]byte { return r.mem[buffer].Strings }

// Run computes all values. An id outside of its table is an *IndexError.
func (r *Runner) Run() error {
	if r.rows == 0 {
		return nil
	}
	return r.compute(0)
}

// IndexError is an id that its table lacks.
type IndexError struct {
	Node string // the node that looks the id up
	At   int    // which element of its ids it is
	ID   int
	Rows int // of the table
}

func (e *IndexError) Error() string {
	return fmt.Sprintf("%s: id %d, at place %d, is outside 0..%d", e.Node, e.ID, e.At, e.Rows-1)
}
