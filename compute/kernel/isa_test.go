package kernel

import (
	"fmt"
	"math"
	"math/rand/v2"
	"testing"
)

// hostile returns ordinary numbers with occasional special values.
func hostile(r *rand.Rand, n int) []float32 {
	x := random(r, n)
	odd := []float32{0, float32(math.Copysign(0, -1)), 1, -1, 1e-45, -1e-45, 1.1754944e-38, 3e38, -3e38, 88.5, -103.9,
		float32(math.Inf(1)), float32(math.Inf(-1)), float32(math.NaN())}
	for i := range x {
		if r.IntN(5) == 0 {
			x[i] = odd[r.IntN(len(odd))]
		}
	}
	return x
}

// guarded is n numbers at any offset, between others that must not be written.
type guarded struct{ all, x []float32 }

const guard = 12345

func newGuarded(r *rand.Rand, content []float32) guarded {
	from := 1 + r.IntN(17)
	g := guarded{all: make([]float32, from+len(content)+17)}
	for i := range g.all {
		g.all[i] = guard
	}
	g.x = g.all[from : from+len(content)]
	copy(g.x, content)
	return g
}

func (g guarded) check(t *testing.T, what string) {
	t.Helper()
	first := cap(g.all) - cap(g.x)
	for i, v := range g.all {
		if (i < first || i >= first+len(g.x)) && v != guard {
			t.Fatalf("%s wrote %v at %d, outside of its %d elements", what, v, i-first, len(g.x))
		}
	}
}

// agree fails if two numbers differ by more than a relative error, or by that error for numbers
// below 1; signs of zeros don't matter.
func agree(t *testing.T, what string, got, want []float32, within float64) {
	t.Helper()
	for i, w := range want {
		g, w := float64(got[i]), float64(w)
		if math.IsNaN(g) && math.IsNaN(w) || g == w {
			continue
		}
		if !(math.Abs(g-w) <= within*max(1, math.Abs(w))) || math.IsInf(w, 0) {
			t.Fatalf("%s: element %d of %d is %v, portable %v", what, i, len(want), g, w)
		}
	}
}

// withEach runs a test with each instruction set, except the portable one.
func withEach(t *testing.T, test func(t *testing.T, isa ISA, r *rand.Rand)) {
	t.Parallel()
	if len(isas()) == 1 {
		t.Log("this processor has the portable instruction set alone")
	}
	for _, isa := range isas()[1:] {
		t.Run(isa.String(), func(t *testing.T) {
			t.Parallel()
			test(t, isa, seeded(uint64(isa)))
		})
	}
}

func TestMapWithEachISA(t *testing.T) {
	withEach(t, func(t *testing.T, isa ISA, r *rand.Rand) {
		for f := Identity; f <= Step; f++ {
			for n := range 71 {
				x := hostile(r, n)
				want, got := make([]float32, n), newGuarded(r, x)
				mapPortable(f, want, x)
				mapped(isa, f, got.x, got.x)
				name := fmt.Sprintf("Map(%d)", f)
				got.check(t, name)
				agree(t, name, got.x, want, 1e-6)
			}
		}
	})
}

func TestSlopeWithEachISA(t *testing.T) {
	withEach(t, func(t *testing.T, isa ISA, r *rand.Rand) {
		for _, f := range []Func{Identity, Relu, Sigmoid, Tanh, Softplus, Abs} {
			for n := range 71 {
				dy, v := hostile(r, n), hostile(r, n)
				want, got := make([]float32, n), newGuarded(r, dy)
				slopePortable(f, want, dy, v)
				sloped(isa, f, got.x, got.x, v)
				name := fmt.Sprintf("Slope(%d)", f)
				got.check(t, name)
				agree(t, name, got.x, want, 1e-6)
			}
		}
	})
}

// All functions of two elements are exact, except Pow, which is the same code.
func TestCombineWithEachISA(t *testing.T) {
	withEach(t, func(t *testing.T, isa ISA, r *rand.Rand) {
		for f := Add; f <= Ne; f++ {
			for range 100 {
				shape, rows, cols := Shape(r.IntN(4)), 1+r.IntN(5), r.IntN(50)
				x, y, swapped := hostile(r, rows*cols), hostile(r, shape.len(rows, cols)), r.IntN(2) == 0
				want, got := make([]float32, rows*cols), newGuarded(r, x)
				name := fmt.Sprintf("Combine(%d, shape %d, %dx%d, swapped %v)", f, shape, rows, cols, swapped)
				if shape == Full || shape == Scalar { // as Combine does it
					rows, cols = 1, rows*cols
				}
				combinePortable(f, want, x, y, shape, rows, cols, swapped)
				combine(isa, f, got.x, got.x, y, shape, rows, cols, swapped)
				got.check(t, name)
				agree(t, name, got.x, want, 0)
			}
		}
	})
}

// All instruction sets add in the same order, so sums are the same to the last bit.
func TestSumsWithEachISA(t *testing.T) {
	withEach(t, func(t *testing.T, isa ISA, r *rand.Rand) {
		for range 500 {
			rows, cols := 1+r.IntN(6), r.IntN(150)
			x := random(r, rows*cols)
			if r.IntN(3) == 0 {
				x = hostile(r, rows*cols)
			}
			name := fmt.Sprintf("of %dx%d", rows, cols)
			want, got := make([]float32, cols), newGuarded(r, random(r, cols))
			sumRows(Portable, want, x, rows, cols, false)
			sumRows(isa, got.x, x, rows, cols, false)
			got.check(t, "sumRows "+name)
			agree(t, "sumRows "+name, got.x, want, 0)
			want, got = make([]float32, rows), newGuarded(r, random(r, rows))
			sumColumns(Portable, want, x, cols)
			sumColumns(isa, got.x, x, cols)
			got.check(t, "sumColumns "+name)
			agree(t, "sumColumns "+name, got.x, want, 0)
			wantLanes, gotLanes := laneSums(Portable, x), laneSums(isa, x)
			agree(t, "laneSums "+name, gotLanes[:], wantLanes[:], 0)
			if want, got := sumSquares(Portable, x), sumSquares(isa, x); !(math.Abs(got-want) <= 1e-15*want) && got != want && got == got {
				t.Fatalf("sumSquares %s is %v, portable %v", name, got, want)
			}
		}
	})
}

func TestRowsWithEachISA(t *testing.T) {
	withEach(t, func(t *testing.T, isa ISA, r *rand.Rand) {
		for w := softmaxRows; w <= logSoftmaxSlopeRows; w++ {
			for range 300 {
				rows, cols := 1+r.IntN(40), 1+r.IntN(60)
				if r.IntN(2) == 0 {
					cols = 1 + r.IntN(10)
				}
				x, z := random(r, rows*cols), random(r, rows*cols)
				if r.IntN(2) == 0 {
					x, z = hostile(r, rows*cols), hostile(r, rows*cols)
				}
				want, got := make([]float32, rows*cols), newGuarded(r, x)
				w.portable(want, x, z, cols)
				w.do(isa, got.x, got.x, z, cols)
				name := fmt.Sprintf("rows %d of %dx%d", w, rows, cols)
				got.check(t, name)
				if w < softmaxSlopeRows { // the slope of huge numbers is only rounding
					agree(t, name, got.x, want, 2e-6)
				}
			}
		}
	})
}

func TestSlopesOfRowsWithEachISA(t *testing.T) {
	withEach(t, func(t *testing.T, isa ISA, r *rand.Rand) {
		for range 300 {
			rows, cols := 1+r.IntN(4), 1+r.IntN(60)
			dy, y := random(r, rows*cols), random(r, rows*cols)
			for _, w := range []rowwise{softmaxSlopeRows, logSoftmaxSlopeRows} {
				want, got := make([]float32, rows*cols), newGuarded(r, dy)
				w.portable(want, dy, y, cols)
				w.do(isa, got.x, got.x, y, cols)
				// Sums of up to 60.
				agree(t, fmt.Sprintf("rows %d of %dx%d", w, rows, cols), got.x, want, 1e-4)
			}
		}
	})
}

// Short rows may share a register: none affects another's result, at any position, not even with
// NaN or infinities.
func TestShortRowsStandAlone(t *testing.T) {
	withEach(t, func(t *testing.T, isa ISA, r *rand.Rand) {
		for range 600 {
			rows, cols := 1+r.IntN(40), 1+r.IntN(10)
			x, z := hostile(r, rows*cols), hostile(r, rows*cols)
			for w := softmaxRows; w <= logSoftmaxSlopeRows; w++ {
				all := newGuarded(r, x)
				w.do(isa, all.x, all.x, z, cols)
				all.check(t, fmt.Sprintf("rows %d of %dx%d", w, rows, cols))
				one := make([]float32, cols)
				for at := 0; at < len(x); at += cols {
					w.do(isa, one, x[at:at+cols], z[at:at+cols], cols)
					agree(t, fmt.Sprintf("rows %d of %dx%d from %d", w, rows, cols, at), all.x[at:at+cols], one, 0)
				}
			}
		}
	})
}

func TestSlopesOfShortRowsWithEachISA(t *testing.T) {
	withEach(t, func(t *testing.T, isa ISA, r *rand.Rand) {
		for range 600 {
			rows, cols := 1+r.IntN(40), 1+r.IntN(10)
			dy, y := random(r, rows*cols), random(r, rows*cols)
			dy[r.IntN(len(dy))] = float32(math.Inf(1))
			for _, w := range []rowwise{softmaxSlopeRows, logSoftmaxSlopeRows} {
				want, got := make([]float32, rows*cols), newGuarded(r, dy)
				w.portable(want, dy, y, cols)
				w.do(isa, got.x, got.x, y, cols)
				agree(t, fmt.Sprintf("rows %d of %dx%d", w, rows, cols), got.x, want, 2e-5)
			}
		}
	})
}

func TestTablesWithEachISA(t *testing.T) {
	withEach(t, func(t *testing.T, isa ISA, r *rand.Rand) {
		for range 300 {
			width, rows, places, vocabulary := 1+r.IntN(200), 1+r.IntN(6), 1+r.IntN(5), 1+r.IntN(6)
			if r.IntN(3) == 0 {
				width = 1 + r.IntN(2) // a single column has its own code
			}
			name := fmt.Sprintf("%d ids of %d, width %d", rows*places, vocabulary, width)
			ids, values := make([]int, rows*places), random(r, rows*places)
			for i := range ids {
				ids[i] = r.IntN(vocabulary)
			}
			table, y := hostile(r, vocabulary*width), random(r, rows*places*width)
			want, got := make([]float32, len(y)), newGuarded(r, y)
			gather(Portable, want, table, ids, width)
			gather(isa, got.x, table, ids, width)
			got.check(t, "gather "+name)
			agree(t, "gather "+name, got.x, want, 0)

			from := r.IntN(width)
			to := from + 1 + r.IntN(width-from)
			want, got = append([]float32{}, table...), newGuarded(r, table)
			scatterAdd(Portable, want, y, ids, width, from, to)
			scatterAdd(isa, got.x, y, ids, width, from, to)
			got.check(t, "scatterAdd "+name)
			agree(t, "scatterAdd "+name, got.x, want, 0)

			for i := range ids {
				ids[i] = r.IntN(vocabulary+1) - 1
			}
			table = random(r, vocabulary*width)
			want, got = make([]float32, rows*width), newGuarded(r, random(r, rows*width))
			sparseGemm(Portable, want, values, ids, table, places, width)
			sparseGemm(isa, got.x, values, ids, table, places, width)
			got.check(t, "sparseGemm "+name)
			agree(t, "sparseGemm "+name, got.x, want, 1e-5)

			want, got = append([]float32{}, table...), newGuarded(r, table)
			sparseGemmSlope(Portable, want, values, ids, y[:rows*width], places, width, from, to)
			sparseGemmSlope(isa, got.x, values, ids, y[:rows*width], places, width, from, to)
			got.check(t, "sparseGemmSlope "+name)
			agree(t, "sparseGemmSlope "+name, got.x, want, 1e-5)
		}
	})
}

func TestDropoutWithEachISA(t *testing.T) {
	withEach(t, func(t *testing.T, isa ISA, r *rand.Rand) {
		for n := range 200 {
			m := newMask(r.Float32(), r.Uint64(), r.Uint64(), r.Uint64())
			want, got := make([]float32, n), newGuarded(r, make([]float32, n))
			from := 16 * r.IntN(1<<20)
			m.draw(Portable, want, from)
			m.draw(isa, got.x, from)
			got.check(t, "dropout")
			agree(t, "dropout", got.x, want, 0)
		}
	})
}

// The update rules are the same to the last bit with each instruction set: none of them is fused.
func TestUpdateWithEachISA(t *testing.T) {
	withEach(t, func(t *testing.T, isa ISA, r *rand.Rand) {
		for name, rule := range everyRule() {
			for n := 1; n < 71; n++ {
				w, g := random(r, n), hostile(r, n)
				want, got := newStep(rule), newStep(rule)
				want.w, want.g, got.g = append([]float32{}, w...), g, g
				kept := newGuarded(r, w)
				got.w = kept.x
				for i := range rule.Formula.Slots() {
					slot := random(r, n)
					mapPortable(Square, slot, slot)
					want.slots[i], got.slots[i] = append([]float32{}, slot...), slot
				}
				want.interpret(Portable, 0, n)
				got.do(isa, 0, n)
				kept.check(t, name)
				agree(t, name, got.w, want.w, 1e-37) // numbers below 2^-126 may be 0
				for i := range rule.Formula.Slots() {
					agree(t, fmt.Sprint(name, " slot ", i), got.slots[i], want.slots[i], 1e-37)
				}
			}
		}
	})
}

// A formula without assembly is executed by the vector operations of each instruction set.
func TestAFormulaIsTheSameWithEachISA(t *testing.T) {
	adamax := NewFormula("adamax", "m u", "rate newer1 beta2 epsilon",
		"m = m + (g-m)*newer1", "u = max(beta2*u, abs(g))", "w = w - rate*m/(u+epsilon)")
	lion := NewFormula("lion", "m", "rate beta1 newer1 beta2 newer2",
		// The last line assigns to w.
		"w = w - rate*sign(beta1*m+newer1*g)", "m = beta2*m + newer2*g", "w = w + g*(rate-rate)")
	withEach(t, func(t *testing.T, isa ISA, r *rand.Rand) {
		for _, f := range []*Formula{adamax, lion} {
			for _, n := range []int{1, 7, 255, 256, 257, 600} {
				rule := Rule{Formula: f, Numbers: Numbers{0.01, 0.1, 0.9, 0.01, 0.99}, Decay: 0.01}
				want, got := newStep(rule), newStep(rule)
				want.w, want.g = random(r, n), random(r, n)
				got.w, got.g = append([]float32{}, want.w...), want.g
				for i := range f.Slots() {
					want.slots[i] = random(r, n)
					got.slots[i] = append([]float32{}, want.slots[i]...)
				}
				scalar(&want)
				got.do(isa, 0, n)
				agree(t, f.Name(), got.w, want.w, 1e-37)
				for i := range f.Slots() {
					agree(t, fmt.Sprint(f.Name(), " slot ", i), got.slots[i], want.slots[i], 1e-37)
				}
			}
		}
	})
}

func TestAnUpdateAllocatesNothing(t *testing.T) {
	plain := NewFormula("plain", "m", "rate", "m = m + g", "w = w - rate*m")
	w, g, slots := make([]float32, 1000), make([]float32, 1000), [][]float32{make([]float32, 1000)}
	for _, f := range []*Formula{plain, Momentum} {
		if n := testing.AllocsPerRun(10, func() { (*ThreadPool)(nil).Update(Rule{Formula: f}, w, g, slots) }); n != 0 {
			t.Errorf("%s: %v allocations", f.Name(), n)
		}
	}
}

// scalar executes a formula weight by weight.
func scalar(s *step) {
	for i := range s.w {
		var registers [Registers]float32
		registers[0], registers[1] = s.w[i]-float32(s.decay*s.w[i]), s.g[i]
		for k := range s.formula.Slots() {
			registers[firstSlot+k] = s.slots[k][i]
		}
		copy(registers[firstNumber:], s.numbers[:])
		for _, in := range s.formula.Code() {
			if in.Op <= OpMin {
				registers[in.To] = Binary(in.Op).Of(registers[in.X], registers[in.Y])
			} else {
				registers[in.To] = unary[in.Op].Of(registers[in.X])
			}
		}
		s.w[i] = registers[0]
		for k := range s.formula.Slots() {
			s.slots[k][i] = registers[firstSlot+k]
		}
	}
}

func TestAFormulaThatIsMalformedPanics(t *testing.T) {
	t.Parallel()
	for want, lines := range map[string][]string{
		`kernel: formula f: "w - g": expected an assignment`:                                 {"w - g"},
		`kernel: formula f: "g = g * g": g must not be assigned to`:                          {"g = g * g"},
		`kernel: formula f: "rate = w * g": rate must not be assigned to`:                    {"rate = w * g"},
		`kernel: formula f: "w = w - x": x is unknown, or a copy`:                            {"w = w - x"},
		`kernel: formula f: "w = sqrt(w, g)": expected + - * /, sqrt, abs, sign, max or min`: {"w = sqrt(w, g)"},
		`kernel: formula f: expected 1 to 24 instructions, the last of which assigns to w`:   {"m = m + g"},
		`kernel: formula f: "f = g + g": more than 16 registers are needed`:                  {"a = g + g", "b = g + g", "c = g + g", "d = g + g", "e = g + g", "f = g + g"},
	} {
		if got := panicOf(func() { NewFormula("f", "m", "rate", lines...) }); got != want {
			t.Errorf("panic is %v, expected %s", got, want)
		}
	}
}

func everyRule() map[string]Rule {
	adam, rmsprop := Numbers{0.01, 1 - 0.9, 1 - 0.999, 1e-7}, Numbers{0.01, 0.9, 1 - 0.9, 1e-7, 0.8}
	return map[string]Rule{
		"sgd":                       {Formula: SGD, Numbers: Numbers{0.1}, Decay: 0.01},
		"momentum":                  {Formula: Momentum, Numbers: Numbers{0.1, 0.9}},
		"nesterov":                  {Formula: Nesterov, Numbers: Numbers{0.1, 0.9}, Decay: 0.001},
		"adam":                      {Formula: Adam, Numbers: adam},
		"adamw":                     {Formula: Adam, Numbers: adam, Decay: 0.004},
		"adagrad":                   {Formula: Adagrad, Numbers: Numbers{0.1, 1e-7}},
		"rmsprop":                   {Formula: RMSprop, Numbers: rmsprop},
		"rmsprop momentum":          {Formula: RMSpropMomentum, Numbers: rmsprop},
		"rmsprop centered":          {Formula: RMSpropCentered, Numbers: rmsprop},
		"rmsprop centered momentum": {Formula: RMSpropCenteredMomentum, Numbers: rmsprop},
		"ftrl":                      {Formula: FTRL, Numbers: Numbers{0.1, 0.01, 2 * 0.02}},
	}
}

func TestAnIDOutsideOfATableIsNamedWithEachISA(t *testing.T) {
	withEach(t, func(t *testing.T, isa ISA, _ *rand.Rand) {
		for _, width := range []int{1, 20} {
			table, y, values := make([]float32, 3*width), make([]float32, 4*width), make([]float32, 4)
			ids := []int{2, 0, 3, 1}
			for name, do := range map[string]func(){
				"gather":          func() { gather(isa, y, table, ids, width) },
				"scatterAdd":      func() { scatterAdd(isa, table, y, ids, width, 0, width) },
				"sparseGemm":      func() { sparseGemm(isa, y[:2*width], values, ids, table, 2, width) },
				"sparseGemmSlope": func() { sparseGemmSlope(isa, table, values, ids, y[:2*width], 2, width, 0, width) },
			} {
				if got := panicOf(do); got != "kernel: id 3 is not in a table of 3 rows" {
					t.Errorf("%s of width %d: %v", name, width, got)
				}
			}
		}
	})
}

func TestAnISAThatCannotBeHadIsNamed(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		asked     string
		processor ISA
		want      string
	}{
		{"", AVX512, ""},
		{"portable", Portable, ""},
		{"avx2", AVX512, ""},
		{"avx512", AVX512, ""},
		{"avx", AVX512, `STOKER_KERNELS="avx": expected portable, avx2 or avx512, or nothing for what the processor has`},
		{"AVX2", AVX2, `STOKER_KERNELS="AVX2": expected portable, avx2 or avx512, or nothing for what the processor has`},
		{"avx512", AVX2, "STOKER_KERNELS=avx512: this processor has no more than avx2"},
		{"avx2", Portable, "STOKER_KERNELS=avx2: this processor has no more than portable"},
	} {
		got := ""
		if err := checkISA(c.asked, c.processor); err != nil {
			got = err.Error()
		}
		if got != c.want {
			t.Errorf("%q on a processor with %v: %q, expected %q", c.asked, c.processor, got, c.want)
		}
	}
}
