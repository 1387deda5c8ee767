package kernel

import "math"

// Update makes one step of weights by their gradients; slots are Formula.Slots slices, each as long
// as both. The step of an element depends on that element only. A number below 2^-126 may count as
// 0, as in TensorFlow.
func (t *ThreadPool) Update(r Rule, weights, grads []float32, slots [][]float32) {
	n := len(weights)
	s := newStep(r)
	s.w, s.g = weights, first("grads of Update", grads, n)
	for i, slot := range first("slots of Update", slots, r.Formula.slots) {
		s.slots[i] = first("a slot of Update", slot, n)
	}
	if t.alone(n, updateGrain) {
		s.do(currentISA, 0, n)
		return
	}
	t.divide(n, updateGrain, task{do: updatePart, isa: currentISA, step: s})
}

// updateGrain is how many weights are worth a thread.
const updateGrain = 8192

func updatePart(t *task, from, to int) { t.step.do(t.isa, from, to) }

// step is a running Update.
type step struct {
	w, g    []float32
	slots   [MaxSlots][]float32
	formula *Formula
	numbers [MaxNumbers]float32
	decay   float32
}

func newStep(r Rule) step {
	s := step{formula: r.Formula}
	s.numbers, s.decay = r.Rounded()
	return s
}

func (s *step) do(isa ISA, from, to int) {
	if from < to && !s.fast(isa, from, to) {
		s.interpret(isa, from, to)
	}
}

// formulaBlock is how many weights an instruction processes at a time: few enough for the cache,
// enough to make calls cheap.
const formulaBlock = 256

// interpret executes the formula block by block. Each operation is one of Combine or Map, so that
// every processor makes the same step, to the last bit.
func (s *step) interpret(isa ISA, from, to int) {
	memory := sharedBuffers.get()
	defer sharedBuffers.put(memory)
	memory.a = grown(memory.a, (Registers-firstNumber)*formulaBlock)
	var blocks [Registers - firstNumber][]float32
	for i := range blocks {
		blocks[i] = memory.a[i*formulaBlock : (i+1)*formulaBlock]
	}
	for i, x := range s.numbers[:s.formula.numbers] {
		fillWith(blocks[i], x)
	}
	for ; from < to; from += formulaBlock {
		end := min(from+formulaBlock, to)
		var registers [Registers][]float32
		registers[0], registers[1] = s.w[from:end], s.g[from:end]
		for i := range s.formula.slots {
			registers[firstSlot+i] = s.slots[i][from:end]
		}
		for i, block := range blocks {
			registers[firstNumber+i] = block[:end-from]
		}
		for i, w := range registers[0] {
			registers[0][i] = w - float32(s.decay*w)
		}
		for _, in := range s.formula.code {
			in.execute(isa, registers[in.To], registers[in.X], registers[in.Y])
		}
	}
}

// unary are the functions of one operand, by FormulaOp.
var unary = [...]Func{OpSqrt: Sqrt, OpNeg: Neg, OpAbs: Abs, OpSign: Sign}

func (in Instruction) execute(isa ISA, to, x, y []float32) {
	if in.Op <= OpMin {
		combine(isa, Binary(in.Op), to, x, y, Full, 1, len(to), false)
		return
	}
	mapped(isa, unary[in.Op], to, x)
}

func fillWith(to []float32, x float32) {
	for i := range to {
		to[i] = x
	}
}

// ClipValue limits each gradient to -bound..bound, like Keras's clipvalue: g = max(min(g, bound),
// -bound).
func (t *ThreadPool) ClipValue(grads []float32, bound float32) {
	for i, g := range grads {
		grads[i] = max(min(g, bound), -bound)
	}
}

// ClipNorm scales gradients to an L2 norm of at most bound, like Keras's clipnorm: g *= bound /
// norm if norm > bound. A gradient that isn't finite makes all of them NaN.
func (t *ThreadPool) ClipNorm(grads []float32, bound float32) {
	norm := math.Sqrt(t.SumSquares(grads))
	if norm <= float64(bound) {
		return
	}
	by := float32(float64(bound)/norm + (norm - norm)) // NaN if the norm is infinite
	for i := range grads {
		grads[i] *= by
	}
}
