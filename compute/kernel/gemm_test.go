package kernel

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"testing"
)

// gemmPlain defines Gemm: sums along k in its order.
func gemmPlain(c, a, b Matrix, p Product) {
	k := a.Cols
	if p.TransA {
		k = a.Rows
	}
	for r := range c.Rows {
		for j := range c.Cols {
			sum := float32(0)
			for i := range k {
				sum += a.at(r, i, p.TransA) * b.at(i, j, p.TransB)
			}
			if p.Bias != nil {
				sum += p.Bias[j]
			}
			to := &c.Data[r*c.Stride+j]
			if p.Add {
				*to += sum
			} else {
				*to = p.Then.Of(sum)
			}
		}
	}
}

func (m Matrix) at(r, c int, transposed bool) float32 {
	if transposed {
		r, c = c, r
	}
	return m.Data[r*m.Stride+c]
}

// bounds returns each exact element of a product, and the bound of Gemm's error for it.
func bounds(c, a, b Matrix, p Product, k int) (exact, bound []float64) {
	const u = 1.0 / (1 << 24)
	for r := range c.Rows {
		for j := range c.Cols {
			sum, size, before := 0.0, 0.0, float64(c.Data[r*c.Stride+j])
			for i := range k {
				term := float64(a.at(r, i, p.TransA)) * float64(b.at(i, j, p.TransB))
				sum, size = sum+term, size+math.Abs(term)
			}
			off := float64(k+8) * u * size
			if p.Bias != nil {
				sum += float64(p.Bias[j])
				off += u * math.Abs(sum)
			}
			if p.Add {
				sum += before
				off += u * math.Abs(sum) * float64(1+k/200) // c is a term of the sum of each block
			}
			if p.Then == Relu {
				sum = max(sum, 0)
			}
			exact, bound = append(exact, sum), append(bound, off*1.01+1e-44)
		}
	}
	return exact, bound
}

const canary = float32(-7.25e22)

// gemmCase has operands with gaps that must not be written.
type gemmCase struct {
	m, k, n int
	p       Product
	c, a, b Matrix
	gap     int
}

func (g gemmCase) String() string {
	return fmt.Sprintf("%dx%dx%d %+v gaps %d", g.m, g.k, g.n, struct {
		TransA, TransB, Add, Bias bool
		Then                      Func
	}{g.p.TransA, g.p.TransB, g.p.Add, g.p.Bias != nil, g.p.Then}, g.gap)
}

func newGemmCase(rnd *rand.Rand, m, k, n int, p Product, gap int) gemmCase {
	g := gemmCase{m: m, k: k, n: n, p: p, gap: gap}
	matrix := func(rows, cols int, transposed bool) Matrix {
		if transposed {
			rows, cols = cols, rows
		}
		x := make([]float32, rows*(cols+gap))
		for i := range x {
			x[i] = float32(rnd.NormFloat64())
			if cols+gap > 0 && i%(cols+gap) >= cols {
				x[i] = canary
			}
		}
		return Matrix{x, rows, cols, cols + gap}
	}
	g.a, g.b, g.c = matrix(m, k, p.TransA), matrix(k, n, p.TransB), matrix(m, n, false)
	return g
}

func biasOf(rnd *rand.Rand, n int) []float32 {
	bias := make([]float32, n)
	for i := range bias {
		bias[i] = float32(rnd.NormFloat64())
	}
	return bias
}

// products returns all variants of Product.
func products(rnd *rand.Rand, n int) []Product {
	var all []Product
	for i := range 4 {
		transposed := Product{TransA: i&1 > 0, TransB: i&2 > 0}
		all = append(all, transposed)
		for _, p := range []Product{{Add: true}, {Bias: biasOf(rnd, n)}, {Then: Relu}, {Bias: biasOf(rnd, n), Then: Relu}, {Bias: biasOf(rnd, n), Then: Tanh}} {
			p.TransA, p.TransB = transposed.TransA, transposed.TransB
			all = append(all, p)
		}
	}
	return all
}

// checkGemm multiplies with an instruction set, and compares with the formula in float64.
func checkGemm(t *testing.T, pool *ThreadPool, isa ISA, g gemmCase) {
	t.Helper()
	exact, bound := bounds(g.c, g.a, g.b, g.p, g.k)
	c := g.c
	c.Data = slices.Clone(g.c.Data)
	multiply(pool, isa, c, g.a, g.b, g.p)
	for i, v := range c.Data {
		r, j := 0, 0
		if c.Stride > 0 {
			r, j = i/c.Stride, i%c.Stride
		}
		if j >= g.n {
			if v != canary {
				t.Fatalf("%v, %v: wrote %v beyond row %d of c", isa, g, v, r)
			}
			continue
		}
		want, off := exact[r*g.n+j], bound[r*g.n+j]
		if g.p.Then == Tanh {
			want, off = math.Tanh(want), off+3*math.Abs(math.Tanh(want))/(1<<23)
		}
		if !(math.Abs(float64(v)-want) <= off) {
			t.Fatalf("%v, %v: c[%d,%d] = %v, want %v within %v", isa, g, r, j, v, want, off)
		}
	}
}

func TestGemmIsTheProductOfAnyShape(t *testing.T) {
	t.Parallel()
	pool := NewThreadPool(3)
	defer pool.Close()
	for _, isa := range isas() {
		rnd := rand.New(rand.NewPCG(1, uint64(isa)))
		for range 400 {
			m, k, n := rnd.IntN(71), rnd.IntN(71), rnd.IntN(71)
			switch rnd.IntN(8) {
			case 0:
				m = 1
			case 1:
				n = 1
			case 2:
				k = 1
			}
			all := products(rnd, n)
			checkGemm(t, pool, isa, newGemmCase(rnd, m, k, n, all[rnd.IntN(len(all))], rnd.IntN(2)*rnd.IntN(9)))
		}
	}
}

func TestGemmIsTheProductOfLargeMatrices(t *testing.T) {
	t.Parallel()
	pool := NewThreadPool(3)
	defer pool.Close()
	for _, isa := range isas() {
		rnd := rand.New(rand.NewPCG(2, uint64(isa)))
		for _, shape := range [][3]int{{60, 520, 540}, {90, 257, 130}, {129, 128, 128}, {1, 1000, 300}, {400, 1000, 1}} {
			all := products(rnd, shape[2])
			for range 2 {
				checkGemm(t, pool, isa, newGemmCase(rnd, shape[0], shape[1], shape[2], all[rnd.IntN(len(all))], rnd.IntN(2)*rnd.IntN(9)))
			}
		}
	}
}
