package plantest

import (
	"math/rand/v2"
	"strconv"

	"github.com/stoker-ml/stoker/compute/nn/plan"
)

// builder writes a plan by hand, with every buffer in memory of its own.
type builder struct {
	plan      plan.Plan
	random    *rand.Rand
	floats    map[int][]float32 // of the inputs
	ints      map[int][]int
	values    map[int]matrix // of requested buffers
	out       int
	magnitude float64 // of the largest partial sum, for the tolerance; 0 means 1
}

func newBuilder() *builder {
	return &builder{random: rand.New(rand.NewPCG(1, 2)), floats: map[int][]float32{}, ints: map[int][]int{}, values: map[int]matrix{},
		plan: plan.Plan{Inputs: map[string]int{}, Outputs: map[string]int{}}}
}

func (b *builder) add(buffer plan.Buffer) int {
	switch {
	case buffer.Home != plan.Arena:
	case buffer.Kind == plan.Int:
		buffer.At = b.plan.Ints
		b.plan.Ints += buffer.Len()
	default:
		buffer.At = b.plan.Floats
		b.plan.Floats += buffer.Len()
	}
	b.plan.Buffers = append(b.plan.Buffers, buffer)
	return len(b.plan.Buffers) - 1
}

// input gets normal numbers.
func (b *builder) input(rows, cols int) int {
	return b.inputOf(rows, cols, func(int) float32 { return float32(b.random.NormFloat64()) })
}

func (b *builder) inputOf(rows, cols int, at func(i int) float32) int {
	i := b.add(plan.Buffer{Name: "input", Rows: rows, Cols: cols})
	b.plan.Inputs["in"+strconv.Itoa(i)] = i
	values := make([]float32, rows*cols)
	for k := range values {
		values[k] = at(k)
	}
	b.floats[i] = values
	return i
}

// ids get numbers from least to below most.
func (b *builder) ids(rows, cols, least, most int) int {
	i := b.add(plan.Buffer{Name: "ids", Kind: plan.Int, Rows: rows, Cols: cols})
	b.plan.Inputs["ids"+strconv.Itoa(i)] = i
	values := make([]int, rows*cols)
	for k := range values {
		values[k] = least + b.random.IntN(most-least)
	}
	b.ints[i] = values
	return i
}

// constant is bound to memory that doesn't change.
func (b *builder) constant(rows, cols int) int {
	data := make([]float32, rows*cols)
	for i := range data {
		data[i] = float32(b.random.NormFloat64())
	}
	return b.add(plan.Buffer{Name: "constant", Home: plan.Bound, Rows: rows, Cols: cols, Data: data})
}

// do writes an instruction whose result is the output.
func (b *builder) do(in plan.Instr, rows, cols int) int {
	in.Out = b.add(plan.Buffer{Name: "result", Rows: rows, Cols: cols})
	return b.into(in)
}

// into writes an instruction into an existing buffer.
func (b *builder) into(in plan.Instr) int {
	in.Node = "test"
	b.plan.Code = append(b.plan.Code, in)
	b.out = in.Out
	return in.Out
}

// finish makes the output's sum the loss.
func (b *builder) finish() *plan.Plan {
	out := b.out
	b.plan.Outputs["out"] = out
	b.plan.Loss = b.do(plan.Instr{Op: plan.Reduce, In: []int{out}, Attr: plan.Attr{Axis: plan.All}}, 1, 1)
	b.out = out
	return &b.plan
}

func (b *builder) feed(m plan.Machine) {
	for i, v := range b.floats {
		copy(m.Floats(i), v)
	}
	for i, v := range b.ints {
		copy(m.Ints(i), v)
	}
}

// value returns what a buffer was fed or bound with.
func (b *builder) value(i int) matrix {
	if m, known := b.values[i]; known {
		return m
	}
	from := b.floats[i]
	if from == nil {
		from = b.plan.Buffers[i].Data
	}
	buffer := b.plan.Buffers[i]
	b.values[i] = newMatrix(buffer.Rows, buffer.Cols, func(r, c int) float64 { return float64(from[r*buffer.Cols+c]) })
	return b.values[i]
}
