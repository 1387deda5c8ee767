//go:build unix

package kernel

import (
	"fmt"
	"math/rand/v2"
	"os"
	"syscall"
	"testing"
	"unsafe"
)

// edge is memory that ends at the end of a page, before one that is not readable: a read beyond the
// end kills the process.
type edge struct{ all []byte }

func newEdge(t *testing.T, pages int) *edge {
	t.Helper()
	size := os.Getpagesize()
	all, err := syscall.Mmap(-1, 0, (pages+2)*size, syscall.PROT_READ|syscall.PROT_WRITE, syscall.MAP_ANON|syscall.MAP_PRIVATE)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := syscall.Munmap(all); err != nil {
			t.Error(err)
		}
	})
	for _, guard := range [][]byte{all[:size], all[(pages+1)*size:]} {
		if err := syscall.Mprotect(guard, syscall.PROT_NONE); err != nil {
			t.Fatal(err)
		}
	}
	return &edge{all[size : (pages+1)*size : (pages+1)*size]}
}

// last returns a copy of x at the end; first one at the beginning.
func (e *edge) last(x []float32) []float32 { return e.at(len(e.all)-4*len(x), x) }

func (e *edge) first(x []float32) []float32 { return e.at(0, x) }

func (e *edge) at(from int, x []float32) []float32 {
	if len(x) == 0 {
		return nil
	}
	y := unsafe.Slice((*float32)(unsafe.Pointer(&e.all[from])), len(x))
	copy(y, x)
	return y
}

func (e *edge) ids(x []int) []int {
	if len(x) == 0 {
		return nil
	}
	y := unsafe.Slice((*int)(unsafe.Pointer(&e.all[len(e.all)-int(unsafe.Sizeof(x[0]))*len(x)])), len(x))
	copy(y, x)
	return y
}

// edges gives each operand separate memory, at its end or beginning.
type edges struct {
	t    *testing.T
	r    *rand.Rand
	some []*edge
	used int
}

func newEdges(t *testing.T, r *rand.Rand) *edges {
	e := &edges{t: t, r: r}
	for range 16 {
		e.some = append(e.some, newEdge(t, 40))
	}
	return e
}

func (e *edges) next() *edge {
	e.used++
	return e.some[e.used%len(e.some)]
}

func (e *edges) floats(n int) []float32 {
	x := random(e.r, n)
	for i := range x {
		x[i] = x[i]*x[i] + 0.1 // in the domain of all functions, and a sum of squares
	}
	if e.r.IntN(4) == 0 {
		return e.next().first(x)
	}
	return e.next().last(x)
}

func (e *edges) ids(n, below int) []int {
	ids := make([]int, n)
	for i := range ids {
		ids[i] = e.r.IntN(below)
	}
	return e.next().ids(ids)
}

func TestNothingBeyondTheOperandsIsRead(t *testing.T) {
	withEach(t, func(t *testing.T, isa ISA, r *rand.Rand) {
		e := newEdges(t, r)
		for n := 1; n < 70; n++ {
			for f := Identity; f <= Step; f++ {
				mapped(isa, f, e.floats(n), e.floats(n))
			}
			for _, f := range []Func{Identity, Relu, Sigmoid, Tanh, Softplus, Abs} {
				sloped(isa, f, e.floats(n), e.floats(n), e.floats(n))
			}
			for _, rule := range everyRule() {
				s := newStep(rule)
				s.w, s.g = e.floats(n), e.floats(n)
				for i := range rule.Formula.Slots() {
					s.slots[i] = e.floats(n)
				}
				s.do(isa, 0, n)
			}
			laneSums(isa, e.floats(n))
			sumSquares(isa, e.floats(n))
			newMask(0.5, 1, 2, 3).draw(isa, e.floats(n), 0)
		}
	})
}

func TestNothingBeyondMatricesIsRead(t *testing.T) {
	withEach(t, func(t *testing.T, isa ISA, r *rand.Rand) {
		e := newEdges(t, r)
		for range 600 {
			rows, cols := 1+r.IntN(6), 1+r.IntN(90)
			for f := Add; f <= Ne; f++ {
				shape := Shape(r.IntN(4))
				y := e.floats(shape.len(rows, cols))
				if shape == Full || shape == Scalar {
					combine(isa, f, e.floats(rows*cols), e.floats(rows*cols), y, shape, 1, rows*cols, r.IntN(2) == 0)
				} else {
					combine(isa, f, e.floats(rows*cols), e.floats(rows*cols), y, shape, rows, cols, r.IntN(2) == 0)
				}
			}
			for w := softmaxRows; w <= logSoftmaxSlopeRows; w++ {
				w.do(isa, e.floats(rows*cols), e.floats(rows*cols), e.floats(rows*cols), cols)
			}
			sumRows(isa, e.floats(cols), e.floats(rows*cols), rows, cols, r.IntN(2) == 0)
			sumColumns(isa, e.floats(rows), e.floats(rows*cols), cols)

			places, vocabulary := 1+r.IntN(5), 1+r.IntN(6)
			ids := e.ids(rows*places, vocabulary)
			gather(isa, e.floats(rows*places*cols), e.floats(vocabulary*cols), ids, cols)
			scatterAdd(isa, e.floats(vocabulary*cols), e.floats(rows*places*cols), ids, cols, 0, cols)
			sparseGemm(isa, e.floats(rows*cols), e.floats(rows*places), ids, e.floats(vocabulary*cols), places, cols)
			sparseGemmSlope(isa, e.floats(vocabulary*cols), e.floats(rows*places), ids, e.floats(rows*cols), places, cols, 0, cols)
		}
	})
}

func TestNothingBeyondTheFactorsIsRead(t *testing.T) {
	withEach(t, func(t *testing.T, isa ISA, r *rand.Rand) {
		e := newEdges(t, r)
		for range 1500 {
			m, k, n := 1+r.IntN(80), 1+r.IntN(80), 1+r.IntN(80)
			if r.IntN(8) == 0 {
				k = 257 + r.IntN(200) // more than one block of k
			}
			p := Product{TransA: r.IntN(2) == 0, TransB: r.IntN(2) == 0, Add: r.IntN(3) == 0}
			if !p.Add && r.IntN(2) == 0 {
				p.Bias = e.floats(n)
			}
			a, b := NewMatrix(e.floats(m*k), m, k), NewMatrix(e.floats(k*n), k, n)
			if p.TransA {
				a = NewMatrix(a.Data, k, m)
			}
			if p.TransB {
				b = NewMatrix(b.Data, n, k)
			}
			c := NewMatrix(e.floats(m*n), m, n)
			want := NewMatrix(append([]float32{}, c.Data...), m, n)
			multiply(nil, isa, c, a, b, p)
			multiply(nil, Portable, want, a, b, p)
			agree(t, fmt.Sprintf("%dx%dx%d, %+v", m, k, n, p.TransA), c.Data, want.Data, 1e-4)
		}
	})
}
