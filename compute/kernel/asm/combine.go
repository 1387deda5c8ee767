package main

import (
	"github.com/mmcloughlin/avo/operand"
	"github.com/mmcloughlin/avo/reg"
)

type binary struct {
	name string
	do   func(f *file, x, y reg.VecVirtual) reg.VecVirtual
}

// binaries are the functions of kernel.Binary, and their versions with swapped operands if these
// differ.
var binaries = []binary{
	{"add", func(f *file, x, y reg.VecVirtual) reg.VecVirtual { return f.add(x, y) }},
	{"sub", func(f *file, x, y reg.VecVirtual) reg.VecVirtual { return f.sub(x, y) }},
	{"subSwapped", func(f *file, x, y reg.VecVirtual) reg.VecVirtual { return f.sub(y, x) }},
	{"mul", func(f *file, x, y reg.VecVirtual) reg.VecVirtual { return f.mul(x, y) }},
	{"div", func(f *file, x, y reg.VecVirtual) reg.VecVirtual { return f.div(x, y) }},
	{"divSwapped", func(f *file, x, y reg.VecVirtual) reg.VecVirtual { return f.div(y, x) }},
	{"max", func(f *file, x, y reg.VecVirtual) reg.VecVirtual { return f.withNaN(f.max(x, y), x) }},
	{"min", func(f *file, x, y reg.VecVirtual) reg.VecVirtual { return f.withNaN(f.min(x, y), x) }},
	{"gt", comparison(greater)},
	{"gte", comparison(atLeast)},
	{"lt", comparison(less)},
	{"lte", comparison(lessEqual)},
	{"eq", comparison(equal)},
	{"ne", comparison(unequal)},
}

// withNaN gives r, and x where that is NaN.
func (f *file) withNaN(r, x reg.VecVirtual) reg.VecVirtual {
	return f.choose(f.compare(unordered, x, x), x, r)
}

func comparison(is operand.U8) func(f *file, x, y reg.VecVirtual) reg.VecVirtual {
	return func(f *file, x, y reg.VecVirtual) reg.VecVirtual { return f.keep(f.compare(is, x, y), f.all(k(1))) }
}

func writeCombine(f *file) {
	f.each(func(suffix string) {
		for _, o := range binaries {
			f.function(o.name+"Rows"+suffix, "is z = "+o.name+"(x, y) by rows, at least one, of cols elements; y is the same row each time.",
				"func(z, x, y *float32, rows, cols int)")
			z, x, y, cols := f.arg("z"), f.arg("x"), f.arg("y"), f.arg("cols")
			e := f.extentOf(cols)
			f.times(f.arg("rows"), func() {
				f.blocks(e, func(b block) { b.store(o.do(f, b.load(x), b.load(y)), z) })
				f.advance(cols, z, x)
			})
			f.end()

			f.function(o.name+"Columns"+suffix, "is z = "+o.name+"(x, y) by rows, at least one, of cols elements; y has one element a row.",
				"func(z, x, y *float32, rows, cols int)")
			z, x, y, cols = f.arg("z"), f.arg("x"), f.arg("y"), f.arg("cols")
			e = f.extentOf(cols)
			f.times(f.arg("rows"), func() {
				v := f.vec()
				f.VBROADCASTSS(operand.Mem{Base: y}, v)
				f.blocks(e, func(b block) { b.store(o.do(f, b.load(x), v), z) })
				f.advance(cols, z, x)
				f.ADDQ(operand.I32(4), y)
			})
			f.end()
		}
	})
}
