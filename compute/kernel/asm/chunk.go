package main

import (
	"github.com/mmcloughlin/avo/operand"
	"github.com/mmcloughlin/avo/reg"
)

// chunk is some columns that are kept in registers during a loop over rows.
type chunk struct {
	f     *file
	parts []block
	len   int // distance of the next chunk
}

// chunks processes e's columns by 64, then by 16, then the rest. do moves the pointers.
func (f *file) chunks(e extent, do func(c chunk)) {
	left := f.GP64()
	f.MOVQ(e.whole, left)
	for _, n := range []int{64, 16} {
		loop, done := f.label("chunk"), f.label("chunked")
		f.Label(loop)
		f.CMPQ(left, operand.I32(n))
		f.JLT(operand.LabelRef(done))
		do(f.chunk(n, nil))
		f.SUBQ(operand.I32(n), left)
		f.JMP(operand.LabelRef(loop))
		f.Label(done)
	}
	done := f.label("chunked")
	f.TESTQ(e.rest, e.rest)
	f.JEQ(operand.LabelRef(done))
	do(f.chunk(16, e.mask))
	f.Label(done)
}

func (f *file) chunk(n int, mask []operand.Op) chunk {
	c := chunk{f: f, len: n}
	for at := 0; at < n; at += 16 {
		for h := range f.halves() {
			b := block{f: f, at: at, half: h}
			if mask != nil {
				b.mask = mask[h]
			}
			c.parts = append(c.parts, b)
		}
	}
	return c
}

func (c chunk) load(pointer reg.Register) []reg.VecVirtual {
	acc := make([]reg.VecVirtual, len(c.parts))
	for i, b := range c.parts {
		acc[i] = b.load(pointer)
	}
	return acc
}

func (c chunk) zero() []reg.VecVirtual {
	acc := make([]reg.VecVirtual, len(c.parts))
	for i := range acc {
		acc[i] = c.f.zero()
	}
	return acc
}

func (c chunk) store(acc []reg.VecVirtual, pointer reg.Register) {
	for i, b := range c.parts {
		b.store(acc[i], pointer)
	}
}
