package main

import (
	"github.com/mmcloughlin/avo/operand"
	"github.com/mmcloughlin/avo/reg"
)

func writeTable(f *file) {
	f.each(func(suffix string) {
		f.gather(suffix)
		f.scatter(suffix)
		f.sparse(suffix)
		f.sparseSlope(suffix)
	})
}

const badID = "It stops at the first id that is not below limit, and gives its place, else -1."

// rowOf moves a pointer to the row of a table; if the id is at or beyond limit, or below 0, it
// jumps to bad.
func (f *file) rowOf(table, id, stride, limit reg.GPVirtual, bad string) reg.GPVirtual {
	f.CMPQ(id, limit)
	f.JCC(operand.LabelRef(bad))
	row := f.GP64()
	f.MOVQ(id, row)
	f.IMULQ(stride, row)
	f.LEAQ(operand.Mem{Base: table, Index: row, Scale: 4}, row)
	return row
}

// answer returns place at the label bad, and -1 before it.
func (f *file) answer(place reg.GPVirtual, bad string) {
	f.MOVQ(operand.I32(-1), place)
	f.Label(bad)
	f.Store(place, f.ReturnIndex(0))
	f.end()
}

func (f *file) gather(suffix string) {
	f.function("gather"+suffix, "is y[i,:] = table[ids[i],:], of n ids, at least one. "+badID,
		"func(y, table *float32, ids *int, n, width, limit int) int")
	y, table, ids, n, width, limit := f.arg("y"), f.arg("table"), f.arg("ids"), f.arg("n"), f.arg("width"), f.arg("limit")
	e, place := f.extentOf(width), f.GP64()
	f.XORQ(place, place)
	f.times(n, func() {
		id := f.GP64()
		f.MOVQ(operand.Mem{Base: ids, Index: place, Scale: 8}, id)
		row := f.rowOf(table, id, width, limit, "bad")
		f.blocks(e, func(b block) { b.store(b.load(row), y) })
		f.advance(width, y)
		f.INCQ(place)
	})
	f.answer(place, "bad")
}

func (f *file) scatter(suffix string) {
	f.function("scatterAdd"+suffix, "is table[ids[i],:width] += y[i,:width], of n ids, at least one; the rows of both are stride apart. "+badID,
		"func(table, y *float32, ids *int, n, width, stride, limit int) int")
	table, y, ids, n := f.arg("table"), f.arg("y"), f.arg("ids"), f.arg("n")
	stride, limit := f.arg("stride"), f.arg("limit")
	e, place := f.extentOf(f.arg("width")), f.GP64()
	f.XORQ(place, place)
	f.times(n, func() {
		id := f.GP64()
		f.MOVQ(operand.Mem{Base: ids, Index: place, Scale: 8}, id)
		row := f.rowOf(table, id, stride, limit, "bad")
		f.blocks(e, func(b block) { b.store(f.add(b.load(row), b.load(y)), row) })
		f.advance(stride, y)
		f.INCQ(place)
	})
	f.answer(place, "bad")
}

// sparse processes a chunk of columns of all rows, then the next chunk.
func (f *file) sparse(suffix string) {
	f.function("sparseGemm"+suffix, "is SparseGemm, of at least one row and one place. "+badID,
		"func(y, values *float32, ids *int, w *float32, rows, places, width, limit int) int")
	y, w, width := f.arg("y"), f.arg("w"), f.arg("width")
	place := f.GP64()
	f.chunks(f.extentOf(width), func(c chunk) {
		out := f.GP64()
		f.MOVQ(y, out)
		f.XORQ(place, place)
		f.times(f.arg("rows"), func() {
			acc := c.zero()
			f.times(f.arg("places"), func() {
				f.place(place, w, width, func(value reg.VecVirtual, row reg.GPVirtual) {
					for i, b := range c.parts {
						f.plus(acc[i], value, b.load(row))
					}
				})
			})
			c.store(acc, out)
			f.advance(width, out)
		})
		f.ADDQ(operand.I32(4*c.len), y)
		f.ADDQ(operand.I32(4*c.len), w)
	})
	f.answer(place, "bad")
}

// place processes the next position of values and ids: its value, and the row of the table for its
// id. It skips an id below 0.
func (f *file) place(place, table, stride reg.GPVirtual, do func(value reg.VecVirtual, row reg.GPVirtual)) {
	id, value, next := f.GP64(), f.vec(), f.label("next")
	f.MOVQ(operand.Mem{Base: f.arg("ids"), Index: place, Scale: 8}, id)
	f.TESTQ(id, id)
	f.JLT(operand.LabelRef(next))
	row := f.rowOf(table, id, stride, f.arg("limit"), "bad")
	f.VBROADCASTSS(operand.Mem{Base: f.arg("values"), Index: place, Scale: 4}, value)
	do(value, row)
	f.Label(next)
	f.INCQ(place)
}

func (f *file) sparseSlope(suffix string) {
	f.function("sparseGemmSlope"+suffix, "is SparseGemmSlope of width columns, the rows of dw and dy stride apart, of at least one row and place. "+badID,
		"func(dw, values *float32, ids *int, dy *float32, rows, places, width, stride, limit int) int")
	dw, dy, stride, width := f.arg("dw"), f.arg("dy"), f.arg("stride"), f.arg("width")
	f.CMPQ(width, operand.I32(1))
	f.JNE(operand.LabelRef("wide"))
	f.narrowSlope(dw, dy, stride)
	f.Label("wide")
	e, place := f.extentOf(width), f.GP64()
	f.XORQ(place, place)
	f.times(f.arg("rows"), func() {
		f.times(f.arg("places"), func() {
			f.place(place, dw, stride, func(value reg.VecVirtual, row reg.GPVirtual) {
				f.blocks(e, func(b block) {
					sum := b.load(row)
					f.plus(sum, value, b.load(dy))
					b.store(sum, row)
				})
			})
		})
		f.advance(stride, dy)
	})
	f.answer(place, "bad")
}

// narrowSlope is sparseSlope of one column: number by number, since a masked write can't be
// forwarded to a read.
func (f *file) narrowSlope(dw, dy, stride reg.GPVirtual) {
	ids, values, limit, places, place := f.arg("ids"), f.arg("values"), f.arg("limit"), f.arg("places"), f.GP64()
	f.XORQ(place, place)
	f.times(f.arg("rows"), func() {
		slope := f.XMM()
		f.VMOVSS(operand.Mem{Base: dy}, slope)
		f.times(places, func() {
			id, sum, next := f.GP64(), f.XMM(), f.label("next")
			f.MOVQ(operand.Mem{Base: ids, Index: place, Scale: 8}, id)
			f.TESTQ(id, id)
			f.JLT(operand.LabelRef(next))
			row := operand.Mem{Base: f.rowOf(dw, id, stride, limit, "badNarrow")}
			f.VMOVSS(row, sum)
			f.VFMADD231SS(operand.Mem{Base: values, Index: place, Scale: 4}, slope, sum)
			f.VMOVSS(sum, row)
			f.Label(next)
			f.INCQ(place)
		})
		f.advance(stride, dy)
	})
	f.answer(place, "badNarrow")
}
