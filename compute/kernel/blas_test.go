package kernel

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"sync"
	"testing"

	"gonum.org/v1/gonum/blas"
	"gonum.org/v1/gonum/blas/gonum"
)

// Two ways to sum k terms differ by less than 2 k u times the sum of their magnitudes: for less
// than 40 terms of normal numbers by 1e-4.
const blasTolerance = 1e-4

func TestBLASIsGonums(t *testing.T) {
	t.Parallel()
	rnd := rand.New(rand.NewPCG(1, 3))
	transposes := []blas.Transpose{blas.NoTrans, blas.Trans, blas.ConjTrans}
	factors := []float32{0, 1, 1, 1, -0.5}
	for range 2000 {
		m, n, k := rnd.IntN(40), rnd.IntN(40), rnd.IntN(40)
		lda, ldb, ldc := max(m, k, 1)+rnd.IntN(3), max(k, n, 1)+rnd.IntN(3), max(n, 1)+rnd.IntN(3)
		tA, tB := transposes[rnd.IntN(3)], transposes[rnd.IntN(3)]
		alpha, beta := factors[rnd.IntN(5)], factors[rnd.IntN(5)]
		a, b, c := biasOf(rnd, lda*max(m, k, 1)), biasOf(rnd, ldb*max(k, n, 1)), biasOf(rnd, ldc*max(m, 1))
		want := slices.Clone(c)
		gonum.Implementation{}.Sgemm(tA, tB, m, n, k, alpha, a, lda, b, ldb, beta, want, ldc)
		BLAS{}.Sgemm(tA, tB, m, n, k, alpha, a, lda, b, ldb, beta, c, ldc)
		closeTo(t, fmt.Sprintf("Sgemm %c %c %d %d %d %v %v", tA, tB, m, n, k, alpha, beta), c, want)

		x, y := biasOf(rnd, 100), biasOf(rnd, 100)
		incX, incY := 1+rnd.IntN(2), []int{1, 2, -1}[rnd.IntN(3)]
		want = slices.Clone(y)
		rows := m
		if tA != blas.NoTrans {
			rows = k
		}
		// gonum clears more if beta is 0 and a is transposed
		used := max(0, (rows-1)*max(incY, -incY)+1)
		gonum.Implementation{}.Sgemv(tA, m, k, alpha, a, lda, x, incX, beta, want, incY)
		BLAS{}.Sgemv(tA, m, k, alpha, a, lda, x, incX, beta, y, incY)
		closeTo(t, fmt.Sprintf("Sgemv %c %d %d %v %v by %d %d", tA, m, k, alpha, beta, incX, incY), y[:used], want[:used])
	}
}

func closeTo(t *testing.T, what string, got, want []float32) {
	t.Helper()
	for i := range want {
		if !(math.Abs(float64(got[i]-want[i])) <= blasTolerance) {
			t.Fatalf("%s: [%d] = %v, gonum says %v", what, i, got[i], want[i])
		}
	}
}

func TestBLASPanicsWhereGonumDoes(t *testing.T) {
	t.Parallel()
	x := make([]float32, 6)
	for name, call := range map[string]func(b blas.Float32Level3){
		"short a":       func(b blas.Float32Level3) { b.Sgemm('N', 'N', 2, 1, 4, 1, x, 4, x, 1, 0, make([]float32, 2), 1) },
		"narrow b":      func(b blas.Float32Level3) { b.Sgemm('N', 'N', 2, 3, 2, 1, x, 2, x, 2, 0, make([]float32, 6), 3) },
		"bad transpose": func(b blas.Float32Level3) { b.Sgemm('X', 'N', 1, 1, 1, 1, x, 1, x, 1, 0, make([]float32, 1), 1) },
	} {
		ours, gonums := panicOf(func() { call(BLAS{}) }), panicOf(func() { call(gonum.Implementation{}) })
		if ours == nil || ours != gonums {
			t.Errorf("%s: %v, gonum says %v", name, ours, gonums)
		}
	}
}

func panicOf(do func()) (value any) {
	defer func() { value = recover() }()
	do()
	return nil
}

// Concurrent callers without a ThreadPool share a buffer pool.
func TestBLASIsForConcurrentUse(t *testing.T) {
	t.Parallel()
	const n = 70
	rnd := rand.New(rand.NewPCG(4, 4))
	a, b := biasOf(rnd, n*n), biasOf(rnd, n*n)
	want := make([]float32, n*n)
	BLAS{}.Sgemm(blas.NoTrans, blas.Trans, n, n, n, 1, a, n, b, n, 0, want, n)
	var all sync.WaitGroup
	for range 4 {
		all.Go(func() {
			for range 50 {
				c := make([]float32, n*n)
				BLAS{}.Sgemm(blas.NoTrans, blas.Trans, n, n, n, 1, a, n, b, n, 0, c, n)
				if !slices.Equal(c, want) {
					t.Error("a product differs from itself")
					return
				}
			}
		})
	}
	all.Wait()
}
