package main

import (
	"github.com/mmcloughlin/avo/attr"
	"github.com/mmcloughlin/avo/operand"
	"github.com/mmcloughlin/avo/reg"
)

// Elements are processed in blocks of 16, and the remaining ones by a block of which only the first
// elements are read and written. All elements are computed in the same way, and short slices take
// one iteration.

// extent is a length that is known at run time: whole blocks, and the mask of the remaining
// elements.
type extent struct {
	whole, rest reg.GPVirtual
	mask        []operand.Op // by halves
}

// extentOf returns the extent of n elements.
func (f *file) extentOf(n reg.GPVirtual) extent {
	e := extent{whole: f.GP64(), rest: f.GP64()}
	f.MOVQ(n, e.whole)
	f.MOVQ(n, e.rest)
	f.ANDQ(operand.I32(-16), e.whole)
	f.ANDQ(operand.I32(15), e.rest)
	f.maskTable()
	table := f.GP64()
	f.LEAQ(operand.NewDataAddr(operand.NewStaticSymbol(f.tableName()), 0), table)
	if f.wide {
		m := f.K()
		f.KMOVW(operand.Mem{Base: table, Index: e.rest, Scale: 2}, m)
		e.mask = []operand.Op{m}
		return e
	}
	at := f.GP64()
	f.MOVQ(e.rest, at)
	f.NEGQ(at)
	for h := range 2 {
		m := f.YMM()
		f.VMOVDQU(operand.Mem{Base: table, Index: at, Scale: 4, Disp: 64 + 32*h}, m)
		e.mask = append(e.mask, m)
	}
	return e
}

func (f *file) tableName() string {
	if f.wide {
		return "masks_16"
	}
	return "masks_8"
}

// maskTable holds, for AVX-512, the mask of each number of remaining elements; for AVX2, a window
// that slides over 16 lanes of ones and 16 of zeros.
func (f *file) maskTable() {
	name := f.tableName()
	if f.tables[name] {
		return
	}
	f.tables[name] = true
	f.StaticGlobal(name)
	f.DataAttributes(attr.RODATA | attr.NOPTR)
	for i := range 16 {
		if f.wide {
			f.AppendDatum(operand.U16(1<<i - 1))
		} else {
			f.AppendDatum(operand.U32(0xffffffff))
		}
	}
	if f.wide {
		return
	}
	for range 16 {
		f.AppendDatum(operand.U32(0))
	}
}

// block is one register's part of 16 elements.
type block struct {
	f     *file
	index reg.GPVirtual // of the block's first element; nil for 0
	half  int
	at    int        // offset of its elements
	mask  operand.Op // nil for all
}

func (b block) of(pointer reg.Register) operand.Mem {
	m := operand.Mem{Base: pointer, Disp: 32*b.half + 4*b.at}
	if b.index != nil {
		m.Index, m.Scale = b.index, 4
	}
	return m
}

// load gives 0 beyond the mask.
func (b block) load(pointer reg.Register) reg.VecVirtual {
	r := b.f.vec()
	switch {
	case b.mask == nil:
		b.f.VMOVUPS(b.of(pointer), r)
	case b.f.wide:
		b.f.VMOVUPS_Z(b.of(pointer), b.mask, r)
	default:
		b.f.VMASKMOVPS(b.of(pointer), b.mask, r)
	}
	return r
}

// within gives x, and other beyond the mask.
func (b block) within(x, other reg.VecVirtual) reg.VecVirtual {
	if b.mask == nil {
		return x
	}
	return b.f.choose(b.mask, x, other)
}

func (b block) store(x reg.VecVirtual, pointer reg.Register) {
	switch {
	case b.mask == nil:
		b.f.VMOVUPS(x, b.of(pointer))
	case b.f.wide:
		b.f.VMOVUPS(x, b.mask, b.of(pointer))
	default:
		b.f.VMASKMOVPS(x, b.mask, b.of(pointer))
	}
}

// blocks emits each block of e.
func (f *file) blocks(e extent, do func(b block)) {
	loop, rest, done := f.label("block"), f.label("rest"), f.label("done")
	i := f.GP64()
	f.XORQ(i, i)
	f.CMPQ(i, e.whole)
	f.JGE(operand.LabelRef(rest))
	f.Label(loop)
	for h := range f.halves() {
		do(block{f: f, index: i, half: h})
	}
	f.ADDQ(operand.I32(16), i)
	f.CMPQ(i, e.whole)
	f.JLT(operand.LabelRef(loop))
	f.Label(rest)
	f.TESTQ(e.rest, e.rest)
	f.JEQ(operand.LabelRef(done))
	for h := range f.halves() {
		do(block{f: f, index: i, half: h, mask: e.mask[h]})
	}
	f.Label(done)
}

// times emits a loop of n iterations, n at least 1.
func (f *file) times(n reg.GPVirtual, do func()) {
	loop, left := f.label("round"), f.GP64()
	f.MOVQ(n, left)
	f.Label(loop)
	do()
	f.DECQ(left)
	f.JNE(operand.LabelRef(loop))
}

// advance moves pointers by that many elements.
func (f *file) advance(elements reg.GPVirtual, pointers ...reg.GPVirtual) {
	for _, p := range pointers {
		f.LEAQ(operand.Mem{Base: p, Index: elements, Scale: 4}, p)
	}
}

// tree adds 16 lanes: the upper half to the lower one, until one is left, in lane 0. by is the
// instruction of the operation.
func (f *file) tree(by string, acc []reg.VecVirtual) reg.VecVirtual {
	y := f.YMM()
	if f.wide {
		f.VEXTRACTF64X4(operand.U8(1), acc[0], y)
		f.to(y, by, y, acc[0].AsY())
	} else {
		f.to(y, by, acc[1], acc[0])
	}
	x, upper := f.XMM(), f.XMM()
	f.VEXTRACTF128(operand.U8(1), y, upper)
	f.to(x, by, upper, y.AsX())
	f.VMOVHLPS(x, x, upper)
	f.to(x, by, upper, x)
	f.VMOVSHDUP(x, upper)
	f.to(x, by, upper, x)
	return x
}

// accumulators returns 16 lanes with the initial value b.
func (f *file) accumulators(b bits) []reg.VecVirtual {
	acc := make([]reg.VecVirtual, f.halves())
	for h := range acc {
		if b == 0 {
			acc[h] = f.zero()
		} else {
			acc[h] = f.all(b)
		}
	}
	return acc
}
