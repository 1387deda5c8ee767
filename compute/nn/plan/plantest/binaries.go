package plantest

import (
	"github.com/stoker-ml/stoker/compute/kernel"
	"github.com/stoker-ml/stoker/compute/nn/plan"
)

// broadcasts are the shapes of an operand that goes with [9,40].
var broadcasts = map[kernel.Shape][2]int{kernel.Full: {9, 40}, kernel.Row: {1, 40}, kernel.Column: {9, 1}, kernel.Scalar: {1, 1}}

func binaries() (list []operation) {
	for f := kernel.Add; f <= kernel.Ne; f++ {
		for shape := kernel.Full; shape <= kernel.Scalar; shape++ {
			list = append(list, combined(f, shape, false, 0), combined(f, shape, true, 0.5))
		}
	}
	for shape := kernel.Row; shape <= kernel.Scalar; shape++ {
		list = append(list, repeated(shape))
	}
	return append(list, inPlace())
}

func combined(f kernel.Binary, shape kernel.Shape, swapped bool, scale float32) operation {
	var x, y int
	return operation{
		name: named("combine", f, shape, swapped),
		write: func(b *builder) {
			// Some are equal, and some 0.
			small := func(int) float32 { return float32(b.random.IntN(4)) / 2 }
			x, y = b.inputOf(9, 40, small), b.inputOf(broadcasts[shape][0], broadcasts[shape][1], small)
			b.do(plan.Instr{Op: plan.Combine, In: []int{x, y}, Attr: plan.Attr{Binary: f, Shape: shape, Swapped: swapped, Scale: scale}}, 9, 40)
		},
		want: func(b *builder) matrix {
			v, w := b.value(x), b.value(y)
			return newMatrix(9, 40, func(r, c int) float64 {
				p, q := float32(v.at(r, c)), float32(w.at(min(r, w.rows-1), min(c, w.cols-1)))
				if swapped {
					p, q = q, p
				}
				if scale == 0 {
					return float64(f.Of(p, q))
				}
				return float64(scale) * float64(f.Of(p, q))
			})
		},
	}
}

func repeated(shape kernel.Shape) operation {
	var x int
	return operation{
		name: named("repeat", shape),
		write: func(b *builder) {
			x = b.input(broadcasts[shape][0], broadcasts[shape][1])
			b.do(plan.Instr{Op: plan.Repeat, In: []int{x}}, 9, 40)
		},
		want: func(b *builder) matrix {
			v := b.value(x)
			return newMatrix(9, 40, func(r, c int) float64 { return v.at(min(r, v.rows-1), min(c, v.cols-1)) })
		},
	}
}

// inPlace writes over an operand.
func inPlace() operation {
	var x int
	return operation{
		name: "combine and map in place",
		write: func(b *builder) {
			x = b.input(9, 40)
			y := b.do(plan.Instr{Op: plan.Copy, In: []int{x}}, 9, 40)
			b.into(plan.Instr{Op: plan.Combine, Out: y, In: []int{y, x}, Attr: plan.Attr{Binary: kernel.Mul}})
			b.into(plan.Instr{Op: plan.Map, Out: y, In: []int{y}, Attr: plan.Attr{Func: kernel.Neg}})
		},
		want: func(b *builder) matrix {
			v := b.value(x)
			return newMatrix(9, 40, func(r, c int) float64 { return -v.at(r, c) * v.at(r, c) })
		},
	}
}
