package plantest

import (
	"math"

	"github.com/stoker-ml/stoker/compute/nn/plan"
)

func tables() (list []operation) {
	for _, width := range []int{1, 5, 130} {
		list = append(list, gathered(width), scattered(width, false), scattered(width, true),
			sparse(width), sparseSlope(width, false), sparseSlope(width, true))
	}
	return list
}

// height is the number of rows of tables: fewer than ids, so that some repeat.
const height = 11

func gathered(width int) operation {
	var table, ids int
	return operation{
		name: named("gather", width),
		write: func(b *builder) {
			table, ids = b.constant(height, width), b.ids(30, 1, 0, height)
			b.do(plan.Instr{Op: plan.Gather, In: []int{table, ids}}, 30, width)
		},
		want: func(b *builder) matrix {
			v, at := b.value(table), b.ints[ids]
			return newMatrix(30, width, func(r, c int) float64 { return v.at(at[r], c) })
		},
	}
}

// scattered has more ids than a kernel's block has threads.
func scattered(width int, add bool) operation {
	var x, ids, old int
	return operation{
		name: named("scatter", width, add),
		write: func(b *builder) {
			x, ids, old = b.input(300, width), b.ids(300, 1, 0, height), b.input(height, width)
			b.magnitude = math.Sqrt(300)
			out := b.do(plan.Instr{Op: plan.Copy, In: []int{old}}, height, width)
			b.into(plan.Instr{Op: plan.Scatter, Out: out, In: []int{x, ids}, Attr: plan.Attr{Add: add}})
		},
		want: func(b *builder) matrix {
			sums := start(b.value(old), add)
			for i, id := range b.ints[ids] {
				for c := range width {
					sums.v[id*width+c] += b.value(x).at(i, c)
				}
			}
			return sums
		},
	}
}

func start(old matrix, add bool) matrix {
	return newMatrix(old.rows, old.cols, func(r, c int) float64 { return truth(add) * old.at(r, c) })
}

// sparse has ids below 0 among others: they count as nothing.
func sparse(width int) operation {
	var values, ids, w int
	return operation{
		name: named("sparse", width),
		write: func(b *builder) {
			values, ids, w = b.input(30, 7), b.ids(30, 7, -3, height), b.constant(height, width)
			b.magnitude = 10
			b.do(plan.Instr{Op: plan.Sparse, In: []int{values, ids, w}}, 30, width)
		},
		want: func(b *builder) matrix {
			v, at, z := b.value(values), b.ints[ids], b.value(w)
			return newMatrix(30, width, func(r, c int) (sum float64) {
				for p := range 7 {
					if id := at[r*7+p]; id >= 0 {
						sum += v.at(r, p) * z.at(id, c)
					}
				}
				return sum
			})
		},
	}
}

func sparseSlope(width int, add bool) operation {
	var values, ids, dy, old int
	return operation{
		name: named("slope of sparse", width, add),
		write: func(b *builder) {
			values, ids, dy, old = b.input(40, 7), b.ids(40, 7, -3, height), b.input(40, width), b.input(height, width)
			b.magnitude = 20
			out := b.do(plan.Instr{Op: plan.Copy, In: []int{old}}, height, width)
			b.into(plan.Instr{Op: plan.SparseSlope, Out: out, In: []int{values, ids, dy}, Attr: plan.Attr{Add: add}})
		},
		want: func(b *builder) matrix {
			sums, v, g := start(b.value(old), add), b.value(values), b.value(dy)
			for i, id := range b.ints[ids] {
				for c := 0; id >= 0 && c < width; c++ {
					sums.v[id*width+c] += v.v[i] * g.at(i/7, c)
				}
			}
			return sums
		},
	}
}

func shapes() []operation {
	const x, y, z = 0, 1, 2
	three := func(b *builder) { b.input(9, 4); b.input(9, 1); b.input(9, 33) }
	of := func(op plan.Op, attr plan.Attr, cols int) func(b *builder) {
		return func(b *builder) { three(b); b.do(plan.Instr{Op: op, In: []int{z}, Attr: attr}, 9, cols) }
	}
	return []operation{
		{"concat", func(b *builder) { three(b); b.do(plan.Instr{Op: plan.Concat, In: []int{x, y, z}}, 9, 38) }, func(b *builder) matrix {
			return newMatrix(9, 38, func(r, c int) float64 {
				switch {
				case c < 4:
					return b.value(x).at(r, c)
				case c < 5:
					return b.value(y).at(r, 0)
				}
				return b.value(z).at(r, c-5)
			})
		}},
		{"columns", of(plan.Columns, plan.Attr{Start: 3}, 20), func(b *builder) matrix {
			return newMatrix(9, 20, func(r, c int) float64 { return b.value(z).at(r, c+3) })
		}},
		{"pad", of(plan.Pad, plan.Attr{Start: 3}, 40), func(b *builder) matrix {
			return newMatrix(9, 40, func(r, c int) float64 {
				if c < 3 || c >= 36 {
					return 0
				}
				return b.value(z).at(r, c-3)
			})
		}},
		{"transpose", func(b *builder) { three(b); b.do(plan.Instr{Op: plan.Transpose, In: []int{z}}, 33, 9) }, func(b *builder) matrix {
			return flipped(b.value(z), true)
		}},
		{"copy as another shape", func(b *builder) { three(b); b.do(plan.Instr{Op: plan.Copy, In: []int{z}}, 33, 9) }, func(b *builder) matrix {
			return matrix{33, 9, b.value(z).v}
		}},
		{"copy added", func(b *builder) {
			three(b)
			out := b.do(plan.Instr{Op: plan.Copy, In: []int{x}}, 9, 4)
			b.into(plan.Instr{Op: plan.Copy, Out: out, In: []int{x}, Attr: plan.Attr{Add: true}})
		}, func(b *builder) matrix {
			return newMatrix(9, 4, func(r, c int) float64 { return 2 * b.value(x).at(r, c) })
		}},
		{"on the host", func(b *builder) {
			three(b)
			b.do(plan.Instr{Op: plan.OnHost, In: []int{x, y}, Attr: plan.Attr{Host: addColumn{}}}, 9, 4)
		}, func(b *builder) matrix {
			return newMatrix(9, 4, func(r, c int) float64 { return b.value(x).at(r, c) + b.value(y).at(r, 0) })
		}},
	}
}

// addColumn is an operation without a kernel.
type addColumn struct{}

func (addColumn) Name() string { return "add column" }

func (addColumn) Do(out plan.Slice, in []plan.Slice) error {
	cols := len(in[0].Floats) / len(in[1].Floats)
	for i, v := range in[0].Floats {
		out.Floats[i] = v + in[1].Floats[i/cols]
	}
	return nil
}
