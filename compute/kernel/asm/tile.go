package main

import (
	"fmt"

	"github.com/mmcloughlin/avo/operand"
	"github.com/mmcloughlin/avo/reg"
)

// A tile is some rows of c, and as many columns as two registers hold, all kept in registers during
// the loop over k. For each k, a row's element of a is broadcast to a register, and two registers
// of b are multiplied by it:
//
//	sum[r, 0..w) += a[r, k] b[k, 0..w)
//
// Of the 32 registers of AVX-512, 14 rows take 28, b takes two, and a two, in turn; of AVX2's 16, 6
// rows take 12. Smaller tiles have separate bodies: the remaining rows at the end of c, and columns
// that fit into one register.

// The fields of kernel.tile, in bytes. Products are wrong if they differ.
const (
	tileA     = 0
	tileARow  = 8
	tileANext = 16
	tileB     = 24
	tileBNext = 32
	tileC     = 40
	tileCRow  = 48
	tileBias  = 56
	tileK     = 64
	tileRows  = 72
	tileMasks = 80 // for AVX2: a pointer to the lanes of both registers
	tileFlags = 88
	tileBits  = 96 // for AVX-512: 16 bits per register
)

// The bits of tile.flags.
const (
	flagAdd  = 1
	flagRelu = 2
)

func writeGemm(f *file) {
	f.each(func(suffix string) {
		for _, across := range []bool{false, true} {
			if f.wide {
				for _, edge := range []bool{false, true} {
					f.tile(tileShape{name: "tile1", suffix: suffix, across: across, rows: 14, registers: 1, masked: true, edge: edge})
					f.tile(tileShape{name: "tile2", suffix: suffix, across: across, rows: 14, registers: 2, masked: true, edge: edge})
				}
				continue
			}
			f.tile(tileShape{name: "tile", suffix: suffix, across: across, rows: 6, registers: 2})
			f.tile(tileShape{name: "tile", suffix: suffix, across: across, rows: 6, registers: 2, masked: true, edge: true})
		}
		f.copyRows(suffix)
		f.transpose(suffix)
		f.dots(suffix)
	})
}

// tileShape is the part of a tile that is known at generation time.
type tileShape struct {
	name, suffix string
	// The rows of a tile are contiguous in a, and aNext leads to the next k; else aRow leads to the
	// next row.
	across    bool
	rows      int
	registers int
	masked    bool // c may be narrower than the registers
	edge      bool // b ends where c does: beyond the mask nothing may be read
}

func (s tileShape) doc() string {
	doc := fmt.Sprintf("is up to %d rows of c, by %d registers of b; ", s.rows, s.registers)
	if s.across {
		return doc + "a[r, k] lies at 4 r + aNext k."
	}
	return doc + "a[r, k] lies at aRow r + 4 k."
}

// tile generates a function with a body for each number of rows.
func (f *file) tile(s tileShape) {
	if s.edge {
		s.name += "Edge"
	}
	if s.across {
		s.name += "Across"
	}
	f.function(s.name+s.suffix, s.doc(), "func(t *byte)")
	t := tileBody{file: f, tileShape: s, t: reg.RDI, b: reg.RBX, bNext: reg.R10, k: reg.RCX, c: reg.RDX, cRow: reg.R11}
	f.Load(f.Param("t"), t.t)
	t.field(tileRows, t.k)
	for rows := s.rows; rows > 1; rows-- {
		f.CMPQ(t.k, operand.I32(rows))
		f.JEQ(operand.LabelRef(fmt.Sprintf("rows%d", rows)))
	}
	for rows := 1; rows <= s.rows; rows++ {
		f.Label(fmt.Sprintf("rows%d", rows))
		t.rows = rows
		t.body()
	}
}

// tileBody is one of a tile's bodies during generation. Registers are named, since each body uses
// nearly all of them.
type tileBody struct {
	*file
	tileShape
	t, b, bNext, k, c, cRow reg.GPPhysical

	masks []operand.Op
}

// aBases point to rows 0, 3, 6, 9 and 12 of a, if they aren't contiguous: an address reaches two
// strides from there.
var aBases = []reg.GPPhysical{reg.RSI, reg.R12, reg.R13, reg.RAX, reg.R9}

// aStep holds aNext or aRow.
var aStep = reg.R8

func (t *tileBody) field(at int, to reg.Register) {
	t.MOVQ(operand.Mem{Base: t.t, Disp: at}, to)
}

func (t *tileBody) body() {
	t.field(tileB, t.b)
	t.field(tileBNext, t.bNext)
	t.field(tileC, t.c)
	t.field(tileCRow, t.cRow)
	t.field(tileK, t.k)
	t.pointA()
	t.prefetchC()
	t.readMasks()
	for i := range t.rows * t.registers {
		t.clearSum(t.sum(i/t.registers, i%t.registers))
	}
	t.loop()
	t.finish()
	t.end()
}

func (t *tileBody) pointA() {
	t.field(tileA, aBases[0])
	if t.across {
		t.field(tileANext, aStep)
		return
	}
	t.field(tileARow, aStep)
	if t.rows > 3 {
		t.LEAQ(operand.Mem{Base: aStep, Index: aStep, Scale: 2}, aBases[4])
	}
	for i := 1; 3*i < t.rows; i++ {
		t.LEAQ(operand.Mem{Base: aBases[i-1], Index: aBases[4], Scale: 1}, aBases[i])
	}
}

// prefetchC prefetches c.
func (t *tileBody) prefetchC() {
	t.MOVQ(t.c, reg.R15)
	for r := range t.rows {
		for v := range t.registers {
			if t.wide || v == 0 {
				t.PREFETCHT0(operand.Mem{Base: reg.R15, Disp: v * t.width()})
			}
		}
		if r+1 < t.rows {
			t.ADDQ(t.cRow, reg.R15)
		}
	}
}

func (t *tileBody) width() int {
	if t.wide {
		return 64
	}
	return 32
}

// turnSteps is how many values of k one iteration of the loop processes, so that the loop costs
// little compared with the products.
const turnSteps = 4

// Three steps in b and, if rows are contiguous, in a, because an address can't multiply by three.
// cRow is restored after the loop.
var (
	bThree = reg.R11
	aThree = reg.R12
)

// loop loops over k by turnSteps, then over the rest.
func (t *tileBody) loop() {
	turn, rest, one, done := t.label("turn"), t.label("rest"), t.label("one"), t.label("summed")
	t.LEAQ(operand.Mem{Base: t.bNext, Index: t.bNext, Scale: 2}, bThree)
	if t.across {
		t.LEAQ(operand.Mem{Base: aStep, Index: aStep, Scale: 2}, aThree)
	}
	t.SUBQ(operand.I32(turnSteps), t.k)
	t.JLT(operand.LabelRef(rest))
	t.Label(turn)
	for u := range turnSteps {
		t.step(u)
	}
	t.advance(turnSteps)
	t.SUBQ(operand.I32(turnSteps), t.k)
	t.JGE(operand.LabelRef(turn))
	t.Label(rest)
	t.ADDQ(operand.I32(turnSteps), t.k)
	t.JLE(operand.LabelRef(done))
	t.Label(one)
	t.step(0)
	t.advance(1)
	t.SUBQ(operand.I32(1), t.k)
	t.JGT(operand.LabelRef(one))
	t.Label(done)
	t.field(tileCRow, t.cRow)
}

// ahead is the distance of prefetching in b, in bytes: about 16 steps of k.
const ahead = 2048

// step computes one k of an iteration.
func (t *tileBody) step(u int) {
	for v := range t.registers {
		t.readB(v, steps(operand.Mem{Base: t.b, Disp: v * t.width()}, u, t.bNext, bThree))
	}
	for r := range t.rows {
		if t.registers == 1 {
			t.VFMADD231PS_BCST(t.aAt(r, u), t.bRegister(0), t.sum(r, 0))
			continue
		}
		a := t.spare(r)
		t.VBROADCASTSS(t.aAt(r, u), a)
		for v := range t.registers {
			t.VFMADD231PS(a, t.bRegister(v), t.sum(r, v))
		}
	}
}

func (t *tileBody) aAt(r, u int) operand.Mem {
	if t.across {
		return steps(operand.Mem{Base: aBases[0], Disp: 4 * r}, u, aStep, aThree)
	}
	at := operand.Mem{Base: aBases[r/3], Disp: 4 * u}
	if r%3 > 0 {
		at.Index, at.Scale = aStep, uint8(r%3)
	}
	return at
}

// steps returns the address u steps after at.
func steps(at operand.Mem, u int, step, three reg.Register) operand.Mem {
	switch u {
	case 1, 2:
		at.Index, at.Scale = step, uint8(u)
	case 3:
		at.Index, at.Scale = three, 1
	}
	return at
}

// readB also prefetches, if two registers leave the time for it.
func (t *tileBody) readB(v int, at operand.Mem) {
	if t.edge {
		t.readMasked(at, v, t.bRegister(v))
		return
	}
	t.VMOVUPS(at, t.bRegister(v))
	if t.registers == 2 && (t.wide || v == 0) {
		at.Disp += ahead
		t.PREFETCHT0(at)
	}
}

func (t *tileBody) advance(ks int) {
	t.LEAQ(operand.Mem{Base: t.b, Index: t.bNext, Scale: uint8(ks)}, t.b)
	if t.across {
		t.LEAQ(operand.Mem{Base: aBases[0], Index: aStep, Scale: uint8(ks)}, aBases[0])
		return
	}
	for i := 0; 3*i < t.rows; i++ {
		t.ADDQ(operand.I32(4*ks), aBases[i])
	}
}

// vector returns a register by its number.
func (t *tileBody) vector(i int) reg.VecPhysical {
	if t.wide {
		return zmm[i]
	}
	return ymm[i]
}

func (t *tileBody) sum(r, v int) reg.VecPhysical { return t.vector(r*t.registers + v) }

// The last four registers: two of b, two for a in turn.
func (t *tileBody) last() int {
	if t.wide {
		return 32
	}
	return 16
}
func (t *tileBody) bRegister(v int) reg.VecPhysical { return t.vector(t.last() - 4 + v) }
func (t *tileBody) spare(r int) reg.VecPhysical     { return t.vector(t.last() - 2 + r%2) }

func (t *tileBody) clearSum(v reg.VecPhysical) {
	if t.wide {
		t.VPXORD(v, v, v)
	} else {
		t.VXORPS(v, v, v)
	}
}

var (
	ymm = []reg.VecPhysical{reg.Y0, reg.Y1, reg.Y2, reg.Y3, reg.Y4, reg.Y5, reg.Y6, reg.Y7,
		reg.Y8, reg.Y9, reg.Y10, reg.Y11, reg.Y12, reg.Y13, reg.Y14, reg.Y15}
	zmm = []reg.VecPhysical{reg.Z0, reg.Z1, reg.Z2, reg.Z3, reg.Z4, reg.Z5, reg.Z6, reg.Z7,
		reg.Z8, reg.Z9, reg.Z10, reg.Z11, reg.Z12, reg.Z13, reg.Z14, reg.Z15,
		reg.Z16, reg.Z17, reg.Z18, reg.Z19, reg.Z20, reg.Z21, reg.Z22, reg.Z23,
		reg.Z24, reg.Z25, reg.Z26, reg.Z27, reg.Z28, reg.Z29, reg.Z30, reg.Z31}
)
