package plantest

import (
	"math"

	"github.com/stoker-ml/stoker/compute/kernel"
	"github.com/stoker-ml/stoker/compute/nn/plan"
)

// operations returns all cases. Shapes never exactly fill a kernel's block: less than one, one
// more, and several.
func operations() (list []operation) {
	for _, some := range [][]operation{products(), elements(), binaries(), reductions(), softmaxes(), tables(), shapes()} {
		list = append(list, some...)
	}
	return list
}

func products() (list []operation) {
	for _, s := range [][3]int{{1, 1, 1}, {3, 5, 7}, {20, 8, 4}, {70, 65, 33}, {130, 1, 17}, {2, 3, 0}} {
		for kind := range 4 {
			p := kernel.Product{TransA: kind&1 != 0, TransB: kind&2 != 0}
			list = append(list, product(s, p, false), product(s, p, true))
			p.Then = kernel.Relu
			list = append(list, product(s, p, true))
			p.Then, p.Add = kernel.Identity, true
			list = append(list, product(s, p, false))
		}
	}
	return list
}

// product is one of s[0] x s[1] numbers, s[2] deep.
func product(s [3]int, p kernel.Product, bias bool) operation {
	var x, y, z, old int
	return operation{
		name: named("product", s, p.TransA, p.TransB, p.Add, p.Then, bias),
		write: func(b *builder) {
			x, y = b.input(turned(s[0], s[2], p.TransA)), b.input(turned(s[2], s[1], p.TransB))
			in := []int{x, y}
			b.magnitude = 10
			if bias {
				z = b.constant(1, s[1])
				in = append(in, z)
			}
			if p.Add {
				old = b.input(s[0], s[1])
				out := b.do(plan.Instr{Op: plan.Copy, In: []int{old}}, s[0], s[1])
				b.into(plan.Instr{Op: plan.Gemm, Out: out, In: in, Attr: plan.Attr{Product: p}})
				return
			}
			b.do(plan.Instr{Op: plan.Gemm, In: in, Attr: plan.Attr{Product: p}}, s[0], s[1])
		},
		want: func(b *builder) matrix {
			a, c := flipped(b.value(x), p.TransA), flipped(b.value(y), p.TransB)
			return newMatrix(s[0], s[1], func(r, j int) float64 {
				sum := 0.0
				for k := range s[2] {
					sum += a.at(r, k) * c.at(k, j)
				}
				if bias {
					sum += b.value(z).at(0, j)
				}
				if p.Add {
					sum += b.value(old).at(r, j)
				}
				if p.Then == kernel.Relu {
					return max(sum, 0)
				}
				return sum
			})
		},
	}
}

func turned(rows, cols int, turn bool) (int, int) {
	if turn {
		return cols, rows
	}
	return rows, cols
}

func flipped(m matrix, flip bool) matrix {
	if !flip {
		return m
	}
	return newMatrix(m.cols, m.rows, func(r, c int) float64 { return m.at(c, r) })
}

// sizes are numbers of rows and columns.
var sizes = [][2]int{{1, 1}, {3, 5}, {9, 40}, {257, 3}}

func elements() (list []operation) {
	for f := kernel.Identity; f <= kernel.Step; f++ {
		list = append(list, mapped(f, [2]int{9, 40}))
	}
	for _, f := range []kernel.Func{kernel.Relu, kernel.Sigmoid, kernel.Tanh, kernel.Softplus, kernel.Abs} {
		list = append(list, sloped(f))
	}
	list = append(list, mapped(kernel.Sigmoid, sizes[0]), mapped(kernel.Sigmoid, sizes[3]), filled(), masked())
	return list
}

// hostile adds numbers for which functions often go wrong.
func hostile(b *builder) func(i int) float32 {
	special := []float32{0, float32(math.Copysign(0, -1)), 1, -1, 100, -100, float32(math.Inf(1)), float32(math.Inf(-1)), float32(math.NaN())}
	return func(i int) float32 {
		if i < len(special) {
			return special[i]
		}
		return 3 * float32(b.random.NormFloat64())
	}
}

func mapped(f kernel.Func, s [2]int) operation {
	var x int
	return operation{
		name: named("map", f, s),
		write: func(b *builder) {
			x = b.inputOf(s[0], s[1], hostile(b))
			b.do(plan.Instr{Op: plan.Map, In: []int{x}, Attr: plan.Attr{Func: f}}, s[0], s[1])
		},
		want: func(b *builder) matrix {
			v := b.value(x)
			return newMatrix(s[0], s[1], func(r, c int) float64 { return float64(f.Of(float32(v.at(r, c)))) })
		},
	}
}

func sloped(f kernel.Func) operation {
	var g, v int
	return operation{
		name: named("slope", f),
		write: func(b *builder) {
			g, v = b.input(9, 40), b.input(9, 40)
			b.do(plan.Instr{Op: plan.Slope, In: []int{g, v}, Attr: plan.Attr{Func: f}}, 9, 40)
		},
		want: func(b *builder) matrix {
			dy, at := b.value(g), b.value(v)
			return newMatrix(9, 40, func(r, c int) float64 { return dy.at(r, c) * slope(f, at.at(r, c)) })
		},
	}
}

func slope(f kernel.Func, v float64) float64 {
	switch f {
	case kernel.Relu:
		return truth(v > 0)
	case kernel.Sigmoid:
		return v * (1 - v)
	case kernel.Tanh:
		return 1 - v*v
	case kernel.Softplus:
		return 1 / (1 + math.Exp(-v))
	}
	return truth(v > 0) - truth(v < 0)
}

func truth(b bool) float64 {
	if b {
		return 1
	}
	return 0
}

func filled() operation {
	return operation{
		name:  "fill",
		write: func(b *builder) { b.do(plan.Instr{Op: plan.Fill, Attr: plan.Attr{Value: 1.5}}, 9, 40) },
		want:  func(*builder) matrix { return newMatrix(9, 40, func(int, int) float64 { return 1.5 }) },
	}
}

// masked draws as kernel.Dropout does, to the last bit, at the step that check passes.
func masked() operation {
	const n = 9 * 41
	return operation{
		name: "dropout",
		write: func(b *builder) {
			b.do(plan.Instr{Op: plan.Dropout, Attr: plan.Attr{Rate: 0.3, Seed: 1<<40 + 7, Stream: 1<<33 + 5}}, 9, 41)
		},
		want: func(*builder) matrix {
			mask := make([]float32, n)
			(*kernel.ThreadPool)(nil).Dropout(mask, 0.3, 1<<40+7, 1<<33+5, 3)
			return newMatrix(9, 41, func(r, c int) float64 { return float64(mask[r*41+c]) })
		},
	}
}
