package main

import (
	"github.com/mmcloughlin/avo/operand"
	"github.com/mmcloughlin/avo/reg"
)

func writeSum(f *file) {
	f.each(func(suffix string) {
		f.sumRows(suffix)
		f.sumColumns(suffix)
		f.laneSums(suffix)
		f.squares(suffix)
	})
}

// sumRows keeps the sums of 64 columns in registers, then of 16.
func (f *file) sumRows(suffix string) {
	f.function("sumRows"+suffix, "adds to sums the rows of x, of cols elements each, stride apart, in their order. There is at least one.",
		"func(sums, x *float32, rows, cols, stride int)")
	sums, x, rows, cols, stride := f.arg("sums"), f.arg("x"), f.arg("rows"), f.arg("cols"), f.arg("stride")
	f.chunks(f.extentOf(cols), func(c chunk) {
		acc, row := c.load(sums), f.GP64()
		f.MOVQ(x, row)
		f.times(rows, func() {
			for i, b := range c.parts {
				b.addTo(acc[i], row)
			}
			f.advance(stride, row)
		})
		c.store(acc, sums)
		f.ADDQ(operand.I32(4*c.len), x)
		f.ADDQ(operand.I32(4*c.len), sums)
	})
	f.end()
}

// addTo computes acc += the numbers at the pointer.
func (b block) addTo(acc reg.VecVirtual, pointer reg.Register) {
	if b.mask == nil {
		b.f.to(acc, "VADDPS", b.of(pointer), acc)
		return
	}
	b.f.to(acc, "VADDPS", b.load(pointer), acc)
}

func (f *file) sumColumns(suffix string) {
	f.function("sumColumns"+suffix, "is sums[r], the sum of the r-th of rows, at least one, of cols elements.",
		"func(sums, x *float32, rows, cols int)")
	sums, x, cols := f.arg("sums"), f.arg("x"), f.arg("cols")
	e := f.extentOf(cols)
	f.times(f.arg("rows"), func() {
		acc := f.accumulators(0)
		f.blocks(e, func(b block) { b.addTo(acc[b.half], x) })
		f.VMOVSS(f.tree("VADDPS", acc), operand.Mem{Base: sums})
		f.advance(cols, x)
		f.ADDQ(operand.I32(4), sums)
	})
	f.end()
}

func (f *file) laneSums(suffix string) {
	f.function("laneSums"+suffix, "is lanes[i], the sum of x[i], x[i+16], ... of n elements.", "func(lanes, x *float32, n int)")
	lanes, x := f.arg("lanes"), f.arg("x")
	acc := f.accumulators(0)
	f.blocks(f.extentOf(f.arg("n")), func(b block) { b.addTo(acc[b.half], x) })
	for h := range acc {
		block{f: f, half: h}.store(acc[h], lanes)
	}
	f.end()
}

// squares widens 16 numbers to float64.
func (f *file) squares(suffix string) {
	f.function("squareSums"+suffix, "is lanes[i], the sum of x[i]^2, x[i+16]^2, ... of n elements.",
		"func(lanes *float64, x *float32, n int)")
	lanes, x := f.arg("lanes"), f.arg("x")
	acc := make([]reg.VecVirtual, 2*f.halves())
	for i := range acc {
		acc[i] = f.zero()
	}
	f.blocks(f.extentOf(f.arg("n")), func(b block) {
		v := b.load(x)
		for i, part := range f.twoParts(v) {
			wide := f.vec()
			f.VCVTPS2PD(part, wide)
			f.VFMADD231PD(wide, wide, acc[2*b.half+i])
		}
	})
	for i := range acc {
		f.VMOVUPD(acc[i], operand.Mem{Base: lanes, Disp: 64 / f.halves() * i})
	}
	f.end()
}

// twoParts returns the lower and the upper half of a register.
func (f *file) twoParts(v reg.VecVirtual) [2]reg.Register {
	if f.wide {
		upper := f.YMM()
		f.VEXTRACTF64X4(operand.U8(1), v, upper)
		return [2]reg.Register{v.AsY(), upper}
	}
	upper := f.XMM()
	f.VEXTRACTF128(operand.U8(1), v, upper)
	return [2]reg.Register{v.AsX(), upper}
}
