package main

import (
	"github.com/mmcloughlin/avo/operand"
	"github.com/mmcloughlin/avo/reg"
)

// How a tile's sums are stored in c, and how b and c are read and written if they are narrower than
// the registers: the lanes beyond the mask are never accessed in memory.

func (t *tileBody) readMasks() {
	t.masks = nil
	if !t.masked {
		return
	}
	if !t.wide { // in memory, read on demand: no register is left
		t.field(tileMasks, reg.R15)
		return
	}
	for v := range t.registers {
		m := []operand.Op{reg.K1, reg.K2}[v]
		t.MOVWLZX(operand.Mem{Base: t.t, Disp: tileBits + 2*v}, reg.R15L)
		t.KMOVW(reg.R15L, m)
		t.masks = append(t.masks, m)
	}
}

// readMasked gives 0 beyond the mask.
func (t *tileBody) readMasked(at operand.Mem, v int, to reg.VecPhysical) {
	switch {
	case !t.masked:
		t.VMOVUPS(at, to)
	case t.wide:
		t.VMOVUPS_Z(at, t.masks[v], to)
	default:
		t.VMOVUPS(operand.Mem{Base: reg.R15, Disp: 32 * v}, to)
		t.VMASKMOVPS(at, to, to)
	}
}

func (t *tileBody) writeMasked(from reg.VecPhysical, v int, at operand.Mem) {
	switch {
	case !t.masked:
		t.VMOVUPS(from, at)
	case t.wide:
		t.VMOVUPS(from, t.masks[v], at)
	default:
		t.VMOVUPS(operand.Mem{Base: reg.R15, Disp: 32 * v}, t.bRegister(v))
		t.VMASKMOVPS(from, t.bRegister(v), at)
	}
}

// finish computes c = max(0, sum + c + bias), each of the three if requested.
func (t *tileBody) finish() {
	t.field(tileFlags, t.k)
	t.unless(flagAdd, "added", func() {
		t.MOVQ(t.c, reg.RSI)
		t.sums(func(r, v int) {
			t.readMasked(operand.Mem{Base: reg.RSI, Disp: v * t.width()}, v, t.spare(v))
			t.VADDPS(t.spare(v), t.sum(r, v), t.sum(r, v))
		}, reg.RSI)
	})
	t.addBias()
	t.unless(flagRelu, "cut", func() {
		zero := t.spare(0)
		t.clearSum(zero)
		// Of two zeros or with a NaN, the sum.
		t.sums(func(r, v int) { t.VMAXPS(t.sum(r, v), zero, t.sum(r, v)) }, nil)
	})
	t.sums(func(r, v int) {
		t.writeMasked(t.sum(r, v), v, operand.Mem{Base: t.c, Disp: v * t.width()})
	}, t.c)
}

// unless emits code that a flag turns on.
func (t *tileBody) unless(flag int, name string, do func()) {
	done := t.label(name)
	t.TESTQ(operand.I32(flag), t.k)
	t.JEQ(operand.LabelRef(done))
	do()
	t.Label(done)
}

func (t *tileBody) addBias() {
	done := t.label("biased")
	t.field(tileBias, reg.RSI)
	t.TESTQ(reg.RSI, reg.RSI)
	t.JEQ(operand.LabelRef(done))
	for v := range t.registers {
		t.readMasked(operand.Mem{Base: reg.RSI, Disp: v * t.width()}, v, t.bRegister(v))
	}
	t.sums(func(r, v int) { t.VADDPS(t.bRegister(v), t.sum(r, v), t.sum(r, v)) }, nil)
	t.Label(done)
}

// sums processes all of them; row, if given, advances along the rows of c.
func (t *tileBody) sums(do func(r, v int), row reg.Register) {
	for r := range t.rows {
		for v := range t.registers {
			do(r, v)
		}
		if row != nil && r+1 < t.rows {
			t.ADDQ(t.cRow, row)
		}
	}
}
