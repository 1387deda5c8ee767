package main

import (
	"github.com/mmcloughlin/avo/operand"
	"github.com/mmcloughlin/avo/reg"
)

// copyRows copies distant rows into contiguous memory.
func (f *file) copyRows(suffix string) {
	f.function("copyRows"+suffix, "is dst[r, 0..16) = src[r, 0..n), and 0 beyond n, which is at most 16; steps are from row to row, in elements. There is at least one row.",
		"func(dst, src *float32, rows, n, dstStep, srcStep int)")
	dst, src, dstStep, srcStep := f.arg("dst"), f.arg("src"), f.arg("dstStep"), f.arg("srcStep")
	masks := f.masksOf(f.arg("n"))
	f.times(f.arg("rows"), func() {
		for h, mask := range masks {
			x := block{f: f, half: h, mask: mask}.load(src)
			block{f: f, half: h}.store(x, dst)
		}
		f.advance(srcStep, src)
		f.advance(dstStep, dst)
	})
	f.end()
}

// masksOf returns the masks of the first n of 16 lanes, n up to 16.
func (f *file) masksOf(n reg.GPVirtual) []operand.Op {
	if f.wide {
		ones, m := f.GP64(), f.K()
		f.MOVQ(operand.I32(-1), ones)
		f.BZHIQ(n, ones, ones)
		f.KMOVW(ones.As32(), m)
		return []operand.Op{m}
	}
	f.maskTable()
	table, at := f.GP64(), f.GP64()
	f.LEAQ(operand.NewDataAddr(operand.NewStaticSymbol(f.tableName()), 0), table)
	f.MOVQ(n, at)
	f.NEGQ(at)
	var masks []operand.Op
	for h := range 2 {
		m := f.YMM()
		f.VMOVDQU(operand.Mem{Base: table, Index: at, Scale: 4, Disp: 64 + 32*h}, m)
		masks = append(masks, m)
	}
	return masks
}

// transpose processes a square of src at a time, as large as the number of lanes of a register.
func (f *file) transpose(suffix string) {
	f.function("transpose"+suffix, "is dst[c, r] = src[r, c] for the first cols columns and as many rows as a register has lanes, the last of rows again where there are fewer; "+
		"steps are from row to row, in elements.",
		"func(dst, src *float32, rows, cols, dstStep, srcStep int)")
	dst, src, rows, dstStep, srcStep := f.arg("dst"), f.arg("src"), f.arg("rows"), f.arg("dstStep"), f.arg("srcStep")
	f.SHLQ(operand.U8(2), srcStep)
	e := f.extentOf(f.arg("cols"))
	f.blocks(e, func(b block) {
		columns := f.transposed(f.square(b, src, srcStep, rows))
		for _, column := range columns {
			f.VMOVUPS(column, operand.Mem{Base: dst})
			f.advance(dstStep, dst)
			if b.mask != nil {
				f.DECQ(e.rest)
				f.JEQ(operand.LabelRef("stored"))
			}
		}
	})
	f.Label("stored")
	f.end()
}

// square reads a block of as many rows as it has lanes; beyond the last of rows, it reads that
// again.
func (f *file) square(b block, src, step, rows reg.GPVirtual) []reg.VecVirtual {
	at, left, by, none := f.GP64(), f.GP64(), f.GP64(), f.GP64()
	f.MOVQ(src, at)
	f.MOVQ(rows, left)
	f.MOVQ(step, by)
	f.XORQ(none, none)
	read := make([]reg.VecVirtual, 16/f.halves())
	for i := range read {
		read[i] = b.load(at)
		f.DECQ(left)
		f.CMOVQEQ(none, by)
		f.ADDQ(by, at)
	}
	return read
}

// transposed exchanges 2x2 squares of numbers, then of pairs, then of quadruples, as large as a
// quarter of the register; the following steps exchange quarters, or halves.
func (f *file) transposed(r []reg.VecVirtual) []reg.VecVirtual {
	pairs := make([]reg.VecVirtual, len(r))
	for i := 0; i < len(r); i += 2 {
		pairs[i], pairs[i+1] = f.op("VUNPCKLPS", r[i+1], r[i]), f.op("VUNPCKHPS", r[i+1], r[i])
	}
	// 4 g + j: rows 4 g to 4 g + 3 of the columns j, 4 + j, ...
	fours := make([]reg.VecVirtual, len(r))
	for i := 0; i < len(r); i += 4 {
		for j := range 4 {
			by := []string{"VUNPCKLPD", "VUNPCKHPD"}[j%2]
			fours[i+j] = f.op(by, pairs[i+2+j/2], pairs[i+j/2])
		}
	}
	columns := make([]reg.VecVirtual, len(r))
	for j := range 4 {
		if !f.wide {
			columns[j] = f.op("VPERM2F128", operand.U8(0x20), fours[4+j], fours[j])
			columns[4+j] = f.op("VPERM2F128", operand.U8(0x31), fours[4+j], fours[j])
			continue
		}
		quarters := func(imm operand.U8, low, high reg.VecVirtual) reg.VecVirtual {
			return f.op("VSHUFF32X4", imm, high, low)
		}
		const even, odd = 0x88, 0xdd
		low, high := quarters(even, fours[j], fours[4+j]), quarters(even, fours[8+j], fours[12+j])
		columns[j], columns[8+j] = quarters(even, low, high), quarters(odd, low, high)
		low, high = quarters(odd, fours[j], fours[4+j]), quarters(odd, fours[8+j], fours[12+j])
		columns[4+j], columns[12+j] = quarters(even, low, high), quarters(odd, low, high)
	}
	return columns
}

// dots computes four rows at a time, then the rest one by one: each row with the same 16 lanes.
func (f *file) dots(suffix string) {
	f.function("dots"+suffix, "is y[r] = sum_i a[r, i] x[i] for i < n, by 16 lanes that are added up as a tree; aStep is from row to row, in elements.",
		"func(y, a, x *float32, rows, n, aStep int)")
	y, a, x, left, step := f.arg("y"), f.arg("a"), f.arg("x"), f.arg("rows"), f.arg("aStep")
	e := f.extentOf(f.arg("n"))
	for _, rows := range []int{4, 1} {
		loop, done := f.label("rows"), f.label("done")
		f.Label(loop)
		f.CMPQ(left, operand.I32(rows))
		f.JLT(operand.LabelRef(done))
		f.dotRows(rows, y, a, x, step, e)
		f.ADDQ(operand.I32(4*rows), y)
		f.SUBQ(operand.I32(rows), left)
		f.JMP(operand.LabelRef(loop))
		f.Label(done)
	}
	f.end()
}

// dotRows leaves a at the next row.
func (f *file) dotRows(rows int, y, a, x, step reg.GPVirtual, e extent) {
	at, acc := make([]reg.GPVirtual, rows), make([][]reg.VecVirtual, rows)
	for r := range rows {
		at[r], acc[r] = f.GP64(), f.accumulators(0)
		f.MOVQ(a, at[r])
		f.advance(step, a)
	}
	f.blocks(e, func(b block) {
		factor := b.load(x)
		for r := range rows {
			f.plus(acc[r][b.half], factor, b.load(at[r]))
		}
	})
	for r := range rows {
		f.VMOVSS(f.tree("VADDPS", acc[r]).AsX(), operand.Mem{Base: y, Disp: 4 * r})
	}
}
