package plantest

import (
	"math"

	"github.com/stoker-ml/stoker/compute/nn/plan"
)

func reductions() (list []operation) {
	for _, s := range append(sizes, [2]int{301, 70}) {
		for axis := plan.All; axis <= plan.Cols; axis++ {
			list = append(list, reduced(axis, s, 0, false), reduced(axis, s, 0.25, false))
		}
		list = append(list, reduced(plan.Rows, s, 0, true), largest(s))
	}
	return list
}

func reduced(axis plan.Axis, s [2]int, scale float32, add bool) operation {
	var x, old int
	rows, cols := s[0], s[1]
	if axis != plan.Cols {
		rows = 1
	}
	if axis != plan.Rows {
		cols = 1
	}
	return operation{
		name: named("sum", axis, s, scale, add),
		write: func(b *builder) {
			x = b.input(s[0], s[1])
			b.magnitude = math.Sqrt(float64(s[0] * s[1]))
			in := plan.Instr{Op: plan.Reduce, In: []int{x}, Attr: plan.Attr{Axis: axis, Scale: scale, Add: add}}
			if add {
				old = b.input(rows, cols)
				in.Out = b.do(plan.Instr{Op: plan.Copy, In: []int{old}}, rows, cols)
				b.into(in)
				return
			}
			b.do(in, rows, cols)
		},
		want: func(b *builder) matrix {
			v, sums := b.value(x), newMatrix(rows, cols, func(int, int) float64 { return 0 })
			for i, e := range v.v {
				sums.v[min(i/s[1], rows-1)*cols+min(i%s[1], cols-1)] += e
			}
			for i := range sums.v {
				if scale != 0 {
					sums.v[i] *= float64(scale)
				}
				if add {
					sums.v[i] += b.value(old).v[i]
				}
			}
			return sums
		},
	}
}

func largest(s [2]int) operation {
	var x int
	return operation{
		name: named("largest", s),
		write: func(b *builder) {
			x = b.input(s[0], s[1])
			b.do(plan.Instr{Op: plan.ReduceMax, In: []int{x}}, s[0], 1)
		},
		want: func(b *builder) matrix {
			v := b.value(x)
			return newMatrix(s[0], 1, func(r, _ int) float64 { return v.top(r) })
		},
	}
}

func (m matrix) top(r int) float64 {
	most := math.Inf(-1)
	for c := range m.cols {
		most = max(most, m.at(r, c))
	}
	return most
}

func softmaxes() (list []operation) {
	for _, s := range append(sizes, [2]int{10, 100}) {
		for _, op := range []plan.Op{plan.Softmax, plan.LogSoftmax} {
			list = append(list, softmax(op, s), softmaxSlope(op, s))
		}
	}
	return list
}

func softmax(op plan.Op, s [2]int) operation {
	var x int
	return operation{
		name: named("softmax", op == plan.LogSoftmax, s),
		write: func(b *builder) {
			// exp of it overflows
			x = b.inputOf(s[0], s[1], func(i int) float32 { return 100 * float32(b.random.NormFloat64()) })
			b.magnitude = 400
			b.do(plan.Instr{Op: op, In: []int{x}}, s[0], s[1])
		},
		want: func(b *builder) matrix {
			v := b.value(x)
			return newMatrix(s[0], s[1], func(r, c int) float64 {
				log := v.at(r, c) - v.top(r) - math.Log(v.sumExp(r))
				if op == plan.LogSoftmax {
					return log
				}
				return math.Exp(log)
			})
		},
	}
}

// sumExp returns the sum of exp(x - m) of a row, m its largest.
func (m matrix) sumExp(r int) (sum float64) {
	for c := range m.cols {
		sum += math.Exp(m.at(r, c) - m.top(r))
	}
	return sum
}

// softmaxSlope uses any y: the formula doesn't depend on its origin.
func softmaxSlope(op plan.Op, s [2]int) operation {
	var g, y int
	slope := map[plan.Op]plan.Op{plan.Softmax: plan.SoftmaxSlope, plan.LogSoftmax: plan.LogSoftmaxSlope}[op]
	return operation{
		name: named("slope of softmax", op == plan.LogSoftmax, s),
		write: func(b *builder) {
			g, y = b.input(s[0], s[1]), b.inputOf(s[0], s[1], func(int) float32 { return -b.random.Float32() })
			b.magnitude = math.Sqrt(float64(s[1]))
			b.do(plan.Instr{Op: slope, In: []int{g, y}}, s[0], s[1])
		},
		want: func(b *builder) matrix {
			dy, v := b.value(g), b.value(y)
			return newMatrix(s[0], s[1], func(r, c int) float64 {
				sum := 0.0
				for k := range s[1] {
					if op == plan.LogSoftmax {
						sum += dy.at(r, k)
					} else {
						sum += dy.at(r, k) * v.at(r, k)
					}
				}
				if op == plan.LogSoftmax {
					return dy.at(r, c) - math.Exp(v.at(r, c))*sum
				}
				return (dy.at(r, c) - sum) * v.at(r, c)
			})
		},
	}
}
