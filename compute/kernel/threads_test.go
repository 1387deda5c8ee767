package kernel

import (
	"math"
	"testing"
)

// calls returns all functions but products, over n numbers: each returns its output.
func calls(n int) map[string]func(t *ThreadPool) []float32 {
	r := seeded(uint64(n))
	rows, cols := n/64, 64
	x, y, sums := random(r, n), random(r, n), make([]float32, rows+cols)
	z, slots := make([]float32, n), [][]float32{make([]float32, n), make([]float32, n)}
	ids, table, where := make([]int, rows*4), random(r, 100*cols), make([]int, rows)
	for i := range ids {
		ids[i] = r.IntN(100)
	}
	rule, wide := Rule{Formula: Adam, Numbers: Numbers{0.01, 0.1, 0.001, 1e-7}}, make([]float32, 4*n)
	return map[string]func(t *ThreadPool) []float32{
		"Map":                func(t *ThreadPool) []float32 { t.Map(Tanh, z, x); return z },
		"Map Log1p":          func(t *ThreadPool) []float32 { t.Map(Log1p, z, x); return z },
		"Slope":              func(t *ThreadPool) []float32 { t.Slope(Sigmoid, z, x, y); return z },
		"Combine":            func(t *ThreadPool) []float32 { t.Combine(Div, z, x, y, Full, rows, cols, true); return z },
		"Combine Row":        func(t *ThreadPool) []float32 { t.Combine(Sub, z, x, y, Row, rows, cols, true); return z },
		"Combine Column":     func(t *ThreadPool) []float32 { t.Combine(Sub, z, x, y, Column, rows, cols, false); return z },
		"Combine Scalar":     func(t *ThreadPool) []float32 { t.Combine(Max, z, x, y, Scalar, rows, cols, false); return z },
		"SumRows":            func(t *ThreadPool) []float32 { t.SumRows(sums, x, rows, cols, false); return sums[:cols] },
		"SumRows of columns": func(t *ThreadPool) []float32 { t.SumRows(z, x, 4, n/4, false); return z[:n/4] },
		"SumColumns":         func(t *ThreadPool) []float32 { t.SumColumns(sums, x, rows, cols); return sums[:rows] },
		"MaxColumns":         func(t *ThreadPool) []float32 { t.MaxColumns(sums, where, x, rows, cols); return sums[:rows] },
		"Sum":                func(t *ThreadPool) []float32 { sums[0] = t.Sum(x); return sums[:1] },
		"SumSquares":         func(t *ThreadPool) []float32 { sums[0] = float32(t.SumSquares(x)); return sums[:1] },
		"Softmax":            func(t *ThreadPool) []float32 { t.Softmax(z, x, rows, cols); return z },
		"LogSoftmax":         func(t *ThreadPool) []float32 { t.LogSoftmax(z, x, rows, cols); return z },
		"SoftmaxSlope":       func(t *ThreadPool) []float32 { t.SoftmaxSlope(z, x, y, rows, cols); return z },
		"LogSoftmaxSlope":    func(t *ThreadPool) []float32 { t.LogSoftmaxSlope(z, x, y, rows, cols); return z },
		"Gather":             func(t *ThreadPool) []float32 { t.Gather(wide, table, ids, cols); return wide },
		"ScatterAdd":         func(t *ThreadPool) []float32 { clear(table); t.ScatterAdd(table, wide, ids, cols); return table },
		"SparseGemm":         func(t *ThreadPool) []float32 { t.SparseGemm(z, y, ids, table, rows, 4, cols); return z },
		"SparseGemmSlope": func(t *ThreadPool) []float32 {
			clear(table)
			t.SparseGemmSlope(table, y, ids, x, rows, 4, cols)
			return table
		},
		"Update": func(t *ThreadPool) []float32 {
			clear(slots[0])
			clear(slots[1])
			copy(z, x)
			t.Update(rule, z, y, slots)
			return z
		},
		"Dropout": func(t *ThreadPool) []float32 { t.Dropout(z, 0.3, 1, 2, 3); return z },
	}
}

func TestThreadsNeverShowInAResult(t *testing.T) {
	t.Parallel()
	n := 64 * 3001 // beyond every grain
	for name, do := range calls(n) {
		want := append([]float32{}, do(nil)...)
		for _, threads := range []int{2, 3} {
			pool := NewThreadPool(threads)
			for i, got := range do(pool) {
				if math.Float32bits(got) != math.Float32bits(want[i]) {
					t.Errorf("%s by %d threads: element %d is %v, alone %v", name, threads, i, got, want[i])
					break
				}
			}
			pool.Close()
		}
	}
}

// TestNothingIsAllocated allows for the scratch memory of a second thread, which is allocated when
// both threads first need some at once: that can be in any run.
func TestNothingIsAllocated(t *testing.T) {
	const rounds = 20
	for _, n := range []int{64, 64 * 3001} {
		for _, threads := range []int{1, 2} {
			pool := NewThreadPool(threads)
			for name, do := range calls(n) {
				got := 1.0
				for round := 0; got > 0 && round < rounds; round++ {
					got = testing.AllocsPerRun(3, func() { do(pool) })
				}
				if got > 0 {
					t.Errorf("%s of %d by %d threads: %v allocations in each round", name, n, threads, got)
				}
			}
			pool.Close()
		}
	}
}
