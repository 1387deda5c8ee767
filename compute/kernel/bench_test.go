package kernel

import (
	"fmt"
	"testing"
)

// Lengths of a layer of a small network, and of a large one, which fits into the L2 cache.
var benchLengths = []int{8, 160, 131072}

// elements reports how many elements per second are computed, by the caller's thread alone.
func elements(b *testing.B, n int, do func(t *ThreadPool)) {
	for b.Loop() {
		do(nil)
	}
	b.ReportMetric(float64(n)*float64(b.N)/b.Elapsed().Seconds()/1e6, "Melem/s")
}

func BenchmarkMap(b *testing.B) {
	for _, f := range []Func{Relu, Sigmoid, Tanh, Softplus, Exp, Log, Sqrt, Inverse} {
		for _, n := range benchLengths {
			b.Run(fmt.Sprintf("%d/%d", f, n), func(b *testing.B) {
				x, y := random(seeded(1), n), make([]float32, n)
				elements(b, n, func(t *ThreadPool) { t.Map(f, y, x) })
			})
		}
	}
}

func BenchmarkSlope(b *testing.B) {
	for _, n := range benchLengths {
		b.Run(fmt.Sprintf("relu/%d", n), func(b *testing.B) {
			x, y := random(seeded(1), n), make([]float32, n)
			elements(b, n, func(t *ThreadPool) { t.Slope(Relu, y, x, x) })
		})
	}
}

func BenchmarkCombine(b *testing.B) {
	for _, shape := range []Shape{Full, Row, Column, Scalar} {
		for _, size := range [][2]int{{1, 8}, {20, 8}, {256, 512}} {
			rows, cols := size[0], size[1]
			b.Run(fmt.Sprintf("shape%d/%dx%d", shape, rows, cols), func(b *testing.B) {
				x, y, z := random(seeded(1), rows*cols), random(seeded(2), rows*cols), make([]float32, rows*cols)
				elements(b, rows*cols, func(t *ThreadPool) { t.Combine(Mul, z, x, y, shape, rows, cols, false) })
			})
		}
	}
}

func BenchmarkSums(b *testing.B) {
	for _, size := range [][2]int{{20, 3}, {20, 8}, {256, 512}, {256, 1}} {
		rows, cols := size[0], size[1]
		x, sums := random(seeded(1), rows*cols), make([]float32, rows*cols)
		for name, do := range map[string]func(t *ThreadPool){
			"SumRows":    func(t *ThreadPool) { t.SumRows(sums, x, rows, cols, false) },
			"SumColumns": func(t *ThreadPool) { t.SumColumns(sums, x, rows, cols) },
			"Sum":        func(t *ThreadPool) { t.Sum(x) },
			"SumSquares": func(t *ThreadPool) { t.SumSquares(x) },
		} {
			b.Run(fmt.Sprintf("%s/%dx%d", name, rows, cols), func(b *testing.B) { elements(b, rows*cols, do) })
		}
	}
}

func BenchmarkSoftmax(b *testing.B) {
	for _, size := range [][2]int{{20, 3}, {20, 8}, {256, 10}, {64, 1000}} {
		rows, cols := size[0], size[1]
		x, y := random(seeded(1), rows*cols), make([]float32, rows*cols)
		for name, do := range map[string]func(t *ThreadPool){
			"Softmax":         func(t *ThreadPool) { t.Softmax(y, x, rows, cols) },
			"LogSoftmax":      func(t *ThreadPool) { t.LogSoftmax(y, x, rows, cols) },
			"SoftmaxSlope":    func(t *ThreadPool) { t.SoftmaxSlope(y, x, x, rows, cols) },
			"LogSoftmaxSlope": func(t *ThreadPool) { t.LogSoftmaxSlope(y, x, x, rows, cols) },
		} {
			b.Run(fmt.Sprintf("%s/%dx%d", name, rows, cols), func(b *testing.B) { elements(b, rows*cols, do) })
		}
	}
}

// A table of 1000 rows, a batch of 256 with 10 ids each.
func BenchmarkTables(b *testing.B) {
	for _, width := range []int{1, 8, 64} {
		const vocabulary, rows, places = 1000, 256, 10
		r := seeded(1)
		table, y, values := random(r, vocabulary*width), random(r, rows*places*width), random(r, rows*places)
		ids := make([]int, rows*places)
		for i := range ids {
			ids[i] = r.IntN(vocabulary)
		}
		for name, do := range map[string]func(t *ThreadPool){
			"Gather":          func(t *ThreadPool) { t.Gather(y, table, ids, width) },
			"ScatterAdd":      func(t *ThreadPool) { t.ScatterAdd(table, y, ids, width) },
			"SparseGemm":      func(t *ThreadPool) { t.SparseGemm(y, values, ids, table, rows, places, width) },
			"SparseGemmSlope": func(t *ThreadPool) { t.SparseGemmSlope(table, values, ids, y, rows, places, width) },
		} {
			b.Run(fmt.Sprintf("%s/%d", name, width), func(b *testing.B) { elements(b, rows*places*width, do) })
		}
	}
}

func BenchmarkUpdate(b *testing.B) {
	for name, rule := range everyRule() {
		for _, n := range []int{139, 278529} { // of 4-8-8-3 and of 256-512-256-64-1
			b.Run(fmt.Sprintf("%s/%d", name, n), func(b *testing.B) {
				r := seeded(1)
				w, g, slots := random(r, n), random(r, n), make([][]float32, rule.Formula.Slots())
				for i := range slots {
					slots[i] = make([]float32, n)
				}
				elements(b, n, func(t *ThreadPool) { t.Update(rule, w, g, slots) })
			})
		}
	}
}

// The slots of weights without a gradient become ever smaller.
func BenchmarkUpdateOfIdleWeights(b *testing.B) {
	const n = 4096
	w, g, slots := random(seeded(1), n), make([]float32, n), [][]float32{make([]float32, n), make([]float32, n)}
	for i := range n {
		slots[0][i], slots[1][i] = 1e-40, 1e-40
	}
	elements(b, n, func(t *ThreadPool) { t.Update(everyRule()["adam"], w, g, slots) })
}

func BenchmarkDropout(b *testing.B) {
	for _, n := range benchLengths {
		b.Run(fmt.Sprint(n), func(b *testing.B) {
			mask := make([]float32, n)
			elements(b, n, func(t *ThreadPool) { t.Dropout(mask, 0.5, 1, 2, 3) })
		})
	}
}
