package main

import (
	"github.com/mmcloughlin/avo/operand"
	"github.com/mmcloughlin/avo/reg"
)

func writeSoftmax(f *file) {
	f.each(func(suffix string) {
		f.softmax(suffix)
		f.logSoftmax(suffix)
		f.softmaxSlope(suffix)
		f.logSoftmaxSlope(suffix)
		f.packedSoftmaxes(suffix)
	})
}

// largest gives the maximum of a row, in all lanes. A NaN may get lost: the result is still NaN
// because of the sum of exponentials.
func (f *file) largest(e extent, x reg.GPVirtual) reg.VecVirtual {
	acc := f.accumulators(k(-inf))
	f.blocks(e, func(b block) {
		v := b.load(x)
		if b.mask != nil {
			v = b.within(v, f.all(k(-inf)))
		}
		f.to(acc[b.half], "VMAXPS", v, acc[b.half])
	})
	return f.spread(f.tree("VMAXPS", acc))
}

// There is at least one row, with at least one element. If a row is shorter than a block, values
// stay in registers from one pass to the next.
func (f *file) softmax(suffix string) {
	f.function("softmax"+suffix, "is Softmax.", "func(y, x *float32, rows, cols int)")
	y, x, cols := f.arg("y"), f.arg("x"), f.arg("cols")
	e := f.extentOf(cols)
	f.ifShort(e, func() {
		f.times(f.arg("rows"), func() {
			r := f.shortRow(e, x)
			sum := f.spread(f.tree("VADDPS", r.powers))
			for h, b := range r.blocks {
				b.store(f.div(r.powers[h], sum), y)
			}
			f.advance(cols, y, x)
		})
	}, func() {
		f.times(f.arg("rows"), func() {
			m, acc := f.largest(e, x), f.accumulators(0)
			f.blocks(e, func(b block) {
				v := b.inside(f.exp(f.sub(b.load(x), m)))
				f.to(acc[b.half], "VADDPS", v, acc[b.half])
				b.store(v, y)
			})
			sum := f.spread(f.tree("VADDPS", acc))
			f.blocks(e, func(b block) { b.store(f.div(b.load(y), sum), y) })
			f.advance(cols, y, x)
		})
	})
}

func (f *file) logSoftmax(suffix string) {
	f.function("logSoftmax"+suffix, "is LogSoftmax.", "func(y, x *float32, rows, cols int)")
	y, x, cols := f.arg("y"), f.arg("x"), f.arg("cols")
	e := f.extentOf(cols)
	f.ifShort(e, func() {
		f.times(f.arg("rows"), func() {
			r := f.shortRow(e, x)
			log := f.log(f.spread(f.tree("VADDPS", r.powers)))
			for h, b := range r.blocks {
				b.store(f.sub(r.distances[h], log), y)
			}
			f.advance(cols, y, x)
		})
	}, func() {
		f.times(f.arg("rows"), func() {
			m, acc := f.largest(e, x), f.accumulators(0)
			f.blocks(e, func(b block) {
				v := b.inside(f.exp(f.sub(b.load(x), m)))
				f.to(acc[b.half], "VADDPS", v, acc[b.half])
			})
			log := f.log(f.spread(f.tree("VADDPS", acc)))
			f.blocks(e, func(b block) { b.store(f.sub(f.sub(b.load(x), m), log), y) })
			f.advance(cols, y, x)
		})
	})
}

// ifShort emits short for an extent of less than a block, else long, and ends the function.
func (f *file) ifShort(e extent, short, long func()) {
	label := f.label("long")
	f.TESTQ(e.whole, e.whole)
	f.JNE(operand.LabelRef(label))
	short()
	f.end()
	f.Label(label)
	long()
	f.end()
}

// shortRow is a row in registers: the distance of each element from the maximum, and e to the power
// of that.
type shortRow struct {
	blocks            []block
	distances, powers []reg.VecVirtual
}

func (f *file) shortRow(e extent, x reg.GPVirtual) shortRow {
	var r shortRow
	lowest, padded := f.all(k(-inf)), []reg.VecVirtual(nil)
	for h := range f.halves() {
		b := block{f: f, half: h, mask: e.mask[h]}
		r.blocks = append(r.blocks, b)
		padded = append(padded, b.within(b.load(x), lowest))
	}
	m := f.spread(f.tree("VMAXPS", padded))
	for h, b := range r.blocks {
		r.distances = append(r.distances, b.inside(f.sub(padded[h], m)))
		r.powers = append(r.powers, b.inside(f.exp(r.distances[h])))
	}
	return r
}

// inside gives x, and 0 beyond the mask.
func (b block) inside(x reg.VecVirtual) reg.VecVirtual {
	if b.mask == nil {
		return x
	}
	return b.f.keep(b.mask, x)
}

func (f *file) softmaxSlope(suffix string) {
	f.function("softmaxSlope"+suffix, "is SoftmaxSlope.", "func(dx, dy, y *float32, rows, cols int)")
	dx, dy, y, cols := f.arg("dx"), f.arg("dy"), f.arg("y"), f.arg("cols")
	e := f.extentOf(cols)
	f.times(f.arg("rows"), func() {
		acc := f.accumulators(0)
		f.blocks(e, func(b block) { f.plus(acc[b.half], b.load(dy), b.load(y)) })
		dot := f.spread(f.tree("VADDPS", acc))
		f.blocks(e, func(b block) { b.store(f.mul(f.sub(b.load(dy), dot), b.load(y)), dx) })
		f.advance(cols, dx, dy, y)
	})
	f.end()
}

func (f *file) logSoftmaxSlope(suffix string) {
	f.function("logSoftmaxSlope"+suffix, "is LogSoftmaxSlope.", "func(dx, dy, y *float32, rows, cols int)")
	dx, dy, y, cols := f.arg("dx"), f.arg("dy"), f.arg("y"), f.arg("cols")
	e := f.extentOf(cols)
	f.times(f.arg("rows"), func() {
		acc := f.accumulators(0)
		f.blocks(e, func(b block) { b.addTo(acc[b.half], dy) })
		sum := f.spread(f.tree("VADDPS", acc))
		f.blocks(e, func(b block) {
			slope := b.load(dy)
			f.minus(slope, f.exp(b.load(y)), sum)
			b.store(slope, dx)
		})
		f.advance(cols, dx, dy, y)
	})
	f.end()
}
