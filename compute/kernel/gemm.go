package kernel

import "fmt"

// Matrix is a row-major matrix of Rows x Cols numbers: element (r, c) is Data[r*Stride+c].
type Matrix struct {
	Data               []float32
	Rows, Cols, Stride int
}

// NewMatrix returns a Matrix without gaps.
func NewMatrix(data []float32, rows, cols int) Matrix { return Matrix{data, rows, cols, cols} }

// Product configures Gemm.
type Product struct {
	TransA, TransB bool // use the operand's transpose
	// Add to c instead of overwriting it; then Bias is nil and Then is Identity.
	Add  bool
	Bias []float32 // [c.Cols], added to each row; nil for none
	Then Func      // applied to each element of the sum
}

// Gemm computes c = Then(op(a) op(b) + Bias), or c += op(a) op(b). c must not overlap a or b. It
// panics, before it writes, if the shapes or lengths do not fit.
//
// With k terms to a sum and u = 2^-24, an element of a product differs from the exact one by at
// most (k + 8) u sum |a| |b|; Bias and Add each add u of their result. The order of the terms
// depends only on shapes and ISA.
func (t *ThreadPool) Gemm(c, a, b Matrix, p Product) {
	multiply(t, currentISA, c, a, b, p)
}

// multiply is Gemm with an instruction set.
func multiply(t *ThreadPool, isa ISA, c, a, b Matrix, p Product) {
	g := gemm{isa: isa, c: c, a: a, b: b, p: p, pool: t.bufferPool()}
	g.check()
	switch {
	case c.Rows == 0 || c.Cols == 0:
	case g.k == 0:
		g.nothing()
	default:
		g.prepare()
		g.divide(t)
	}
}

// gemm is a running product.
type gemm struct {
	isa     ISA
	c, a, b Matrix
	p       Product
	k       int  // the terms of each sum
	dotted  bool // c or its transpose is one column, and the terms of a sum are contiguous
	byRows  bool // parts are rows of c, else columns
	pool    *bufferPool
}

// check determines k, and panics if the operands are invalid.
func (g *gemm) check() {
	rows, k := g.a.Rows, g.a.Cols
	if g.p.TransA {
		rows, k = k, rows
	}
	bRows, cols := g.b.Rows, g.b.Cols
	if g.p.TransB {
		bRows, cols = cols, bRows
	}
	if rows != g.c.Rows || cols != g.c.Cols || k != bRows {
		panic(fmt.Sprintf("kernel: Gemm of [%d %d] from [%d %d] and [%d %d]", g.c.Rows, g.c.Cols, rows, k, bRows, cols))
	}
	g.k = k
	g.c.check("c")
	g.a.check("a")
	g.b.check("b")
	if g.p.Bias != nil {
		g.p.Bias = first("Bias of Gemm", g.p.Bias, cols)
	}
	if g.p.Add && (g.p.Bias != nil || g.p.Then != Identity) {
		panic("kernel: Gemm with Add has neither Bias nor Then")
	}
}

func (m *Matrix) check(what string) {
	if m.Rows < 0 || m.Cols < 0 || m.Rows > 1 && m.Stride < m.Cols {
		panic(fmt.Sprintf("kernel: %s of Gemm is [%d %d] with rows %d apart", what, m.Rows, m.Cols, m.Stride))
	}
	if m.Rows > 0 && m.Cols > 0 && len(m.Data) < (m.Rows-1)*m.Stride+m.Cols {
		panic(fmt.Sprintf("kernel: %s of Gemm is [%d %d], rows %d apart, in %d elements", what, m.Rows, m.Cols, m.Stride, len(m.Data)))
	}
}

// nothing computes a product without terms.
func (g *gemm) nothing() {
	if g.p.Add {
		return
	}
	for r := range g.c.Rows {
		row := g.row(r, 0, g.c.Cols)
		if g.p.Bias == nil {
			clear(row)
		} else {
			copy(row, g.p.Bias)
		}
		g.then(row)
	}
}

// row returns a part of row r of c.
func (g *gemm) row(r, from, to int) []float32 {
	return g.c.Data[r*g.c.Stride+from : r*g.c.Stride+to]
}

func (g *gemm) then(row []float32) {
	if g.p.Then != Identity {
		mapped(g.isa, g.p.Then, row, row)
	}
}

// divide divides g into as many parts as are worth a thread.
func (g *gemm) divide(t *ThreadPool) {
	n := g.c.Cols
	if g.byRows = g.c.Rows >= g.c.Cols; g.byRows {
		n = g.c.Rows
	}
	parts := min(t.Threads(), g.c.Rows*g.c.Cols*g.k/worthAThread[g.isa])
	if parts < 2 {
		g.part(0, n)
		return
	}
	size := (n + parts - 1) / parts
	t.divideBy(n, (size+tileMultiple-1)/tileMultiple*tileMultiple, task{do: gemmPart, gemm: *g})
}

// worthAThread is the minimum number of terms of a part, by ISA: about 20 microseconds.
var worthAThread = [...]int{Portable: 50_000, AVX2: 500_000, AVX512: 1_000_000}

// tileMultiple divides the start of each part: it is the number of columns of a tile of any ISA.
const tileMultiple = 32

func gemmPart(t *task, from, to int) { t.gemm.part(from, to) }

// part computes rows or columns of c.
func (g *gemm) part(from, to int) {
	r0, r1, c0, c1 := 0, g.c.Rows, from, to
	if g.byRows {
		r0, r1, c0, c1 = from, to, 0, g.c.Cols
	}
	if !g.fast(r0, r1, c0, c1) {
		g.fours(r0, r1, c0, c1)
	}
}
