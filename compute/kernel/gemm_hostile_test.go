package kernel

import (
	"encoding/binary"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
)

var nan, inf = float32(math.NaN()), float32(math.Inf(1))

// hostileFactors are numbers on which a shortcut would fail.
var hostileFactors = []float32{nan, inf, -inf, 0, float32(math.Copysign(0, -1)), 1, -1, math.MaxFloat32, -math.MaxFloat32,
	math.SmallestNonzeroFloat32, 1e-40, 0x1p-126}

// kind returns the class of a number that depends neither on rounding nor on the order of a short
// sum: NaN, an infinity, or neither.
func kind(x float32) string {
	switch {
	case x != x:
		return "NaN"
	case math.IsInf(float64(x), 1):
		return "+Inf"
	case math.IsInf(float64(x), -1):
		return "-Inf"
	}
	return "finite"
}

// Each sum has one or two hostile terms among ordinary ones, so that its kind is that of the plain
// formula in any order.
func TestGemmPassesNaNAndInfinitiesOn(t *testing.T) {
	t.Parallel()
	for _, isa := range isas() {
		rnd := rand.New(rand.NewPCG(5, uint64(isa)))
		for range 400 {
			m, k, n := 1+rnd.IntN(40), 1+rnd.IntN(40), 1+rnd.IntN(40)
			all := products(rnd, n)
			p := all[rnd.IntN(len(all))]
			if p.Then == Tanh {
				p.Then = Identity
			}
			g := newGemmCase(rnd, m, k, n, p, 1)
			for _, x := range []Matrix{g.a, g.b} {
				x.Data[rnd.IntN(x.Rows)*x.Stride+rnd.IntN(x.Cols)] = []float32{nan, inf, -inf, 0}[rnd.IntN(4)]
			}
			want, got := g.c, g.c
			want.Data, got.Data = slices.Clone(g.c.Data), slices.Clone(g.c.Data)
			gemmPlain(want, g.a, g.b, g.p)
			multiply(nil, isa, got, g.a, g.b, g.p)
			for i := range want.Data {
				if kind(got.Data[i]) != kind(want.Data[i]) {
					t.Fatalf("%v, %v: %v, want %v", isa, g, got.Data[i], want.Data[i])
				}
			}
		}
	}
}

func TestGemmIsExactOfOneTermAnyNumber(t *testing.T) {
	t.Parallel()
	column, row := NewMatrix(hostileFactors, len(hostileFactors), 1), NewMatrix(hostileFactors, 1, len(hostileFactors))
	n := len(hostileFactors)
	for _, isa := range isas() {
		for _, then := range []Func{Identity, Relu} {
			got := make([]float32, n*n)
			multiply(nil, isa, NewMatrix(got, n, n), column, row, Product{Then: then})
			for i, x := range hostileFactors {
				for j, y := range hostileFactors {
					want := then.Of(x * y)
					if v := got[i*n+j]; v != want && (v == v || want == want) {
						t.Errorf("%v: %v of %v times %v = %v, want %v", isa, then, x, y, v, want)
					}
				}
			}
		}
	}
}

// Zero sizes: no element, and sums without a term.
func TestGemmWithoutTermsIsTheBias(t *testing.T) {
	t.Parallel()
	for _, isa := range isas() {
		c := []float32{nan, 7, 7, nan}
		multiply(nil, isa, NewMatrix(c, 2, 2), NewMatrix(nil, 2, 0), NewMatrix(nil, 0, 2), Product{Bias: []float32{-1, 2}, Then: Relu})
		if want := []float32{0, 2, 0, 2}; !slices.Equal(c, want) {
			t.Errorf("%v: %v, want %v", isa, c, want)
		}
		multiply(nil, isa, NewMatrix(c, 2, 2), NewMatrix(nil, 2, 0), NewMatrix(nil, 0, 2), Product{Add: true})
		if want := []float32{0, 2, 0, 2}; !slices.Equal(c, want) {
			t.Errorf("%v: added nothing, and it is %v, want %v", isa, c, want)
		}
		multiply(nil, isa, NewMatrix(c, 2, 2), NewMatrix(nil, 2, 0), NewMatrix(nil, 0, 2), Product{})
		if want := make([]float32, 4); !slices.Equal(c, want) {
			t.Errorf("%v: %v, want %v", isa, c, want)
		}
		multiply(nil, isa, NewMatrix(nil, 0, 3), NewMatrix(nil, 0, 2), NewMatrix(make([]float32, 6), 2, 3), Product{})
		multiply(nil, isa, NewMatrix(nil, 3, 0), NewMatrix(make([]float32, 6), 3, 2), NewMatrix(nil, 2, 0), Product{})
	}
}

func TestGemmRefusesWhatDoesNotFit(t *testing.T) {
	t.Parallel()
	x := make([]float32, 6)
	two := NewMatrix(x, 2, 2)
	for name, c := range map[string]struct {
		a, b Matrix
		p    Product
		want string
	}{
		"inner sizes":            {NewMatrix(x, 2, 3), two, Product{}, "[2 2] from [2 3] and [2 2]"},
		"outer sizes":            {NewMatrix(x, 3, 2), two, Product{}, "[2 2] from [3 2] and [2 2]"},
		"short data":             {Matrix{x, 2, 2, 5}, two, Product{}, "a of Gemm is [2 2], rows 5 apart, in 6 elements"},
		"rows within each other": {two, Matrix{x, 2, 2, 1}, Product{}, "b of Gemm is [2 2] with rows 1 apart"},
		"short bias":             {two, two, Product{Bias: x[:1]}, "Bias of Gemm has 1 elements, 2 are needed"},
		"bias and add":           {two, two, Product{Bias: x[:2], Add: true}, "neither Bias nor Then"},
	} {
		to := []float32{1, 2, 3, 4}
		value := panicOf(func() { (*ThreadPool)(nil).Gemm(NewMatrix(to, 2, 2), c.a, c.b, c.p) })
		if text, _ := value.(string); !strings.Contains(text, c.want) {
			t.Errorf("%s: panicked with %v, want %q", name, value, c.want)
		}
		if !slices.Equal(to, []float32{1, 2, 3, 4}) {
			t.Errorf("%s: wrote %v", name, to)
		}
	}
}

// FuzzGemm varies shapes, the kind of product, and the numbers' seed.
func FuzzGemm(f *testing.F) {
	f.Add([]byte{20, 4, 8, 9, 1, 3, 2})
	f.Add([]byte{1, 200, 0, 2, 0, 0, 200})
	f.Fuzz(func(t *testing.T, x []byte) {
		var in [16]byte
		copy(in[:], x)
		m, k, n := int(in[0]), int(in[1]), int(in[2])
		rnd := rand.New(rand.NewPCG(binary.LittleEndian.Uint64(in[8:]), 8))
		all := products(rnd, n)
		pool := NewThreadPool(int(in[3]) % 4)
		defer pool.Close()
		for _, isa := range isas() {
			checkGemm(t, pool, isa, newGemmCase(rnd, m, k, n, all[int(in[4])%len(all)], int(in[5])%9))
		}
	})
}
