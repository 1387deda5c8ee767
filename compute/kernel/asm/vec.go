package main

import (
	"fmt"
	"math"
	"reflect"

	"github.com/mmcloughlin/avo/attr"
	"github.com/mmcloughlin/avo/build"
	"github.com/mmcloughlin/avo/operand"
	"github.com/mmcloughlin/avo/reg"
)

// file is a family during generation, for one instruction set at a time.
type file struct {
	*build.Context
	wide      bool // AVX-512, else AVX2
	constants map[uint32]bool
	tables    map[string]bool
	labels    int
}

// each generates f for both instruction sets.
func (f *file) each(write func(suffix string)) {
	for _, f.wide = range []bool{false, true} {
		suffix := "AVX2"
		if f.wide {
			suffix = "AVX512"
		}
		write(suffix)
	}
}

// function begins a function.
func (f *file) function(name, doc, signature string) {
	f.Function(name)
	f.Attributes(attr.NOSPLIT)
	f.Pragma("noescape")
	f.SignatureExpr(signature)
	f.Doc(name + " " + doc)
}

func (f *file) end() {
	f.VZEROUPPER()
	f.RET()
}

func (f *file) label(name string) string {
	f.labels++
	return fmt.Sprintf("%s%d", name, f.labels)
}

func (f *file) arg(name string) reg.GPVirtual {
	r := f.GP64()
	f.Load(f.Param(name), r)
	return r
}

// number loads a float32 argument into all lanes.
func (f *file) number(name string) reg.VecVirtual {
	at, err := f.Param(name).Resolve()
	if err != nil {
		panic(err)
	}
	r := f.vec()
	f.VBROADCASTSS(at.Addr, r)
	return r
}

func (f *file) vec() reg.VecVirtual {
	if f.wide {
		return f.ZMM()
	}
	return f.YMM()
}

// halves returns the number of registers for a block of 16 elements: one or two.
func (f *file) halves() int {
	if f.wide {
		return 1
	}
	return 2
}

// bits is a constant, the same in all lanes.
type bits uint32

func k(v float64) bits { return bits(math.Float32bits(float32(v))) }

var inf = math.Inf(1)

func (f *file) constant(b bits) operand.Mem {
	name := fmt.Sprintf("lanes_%08x", uint32(b))
	if !f.constants[uint32(b)] {
		f.constants[uint32(b)] = true
		f.StaticGlobal(name)
		f.DataAttributes(attr.RODATA | attr.NOPTR)
		for range 8 {
			f.AppendDatum(operand.U32(b))
		}
	}
	return operand.NewDataAddr(operand.NewStaticSymbol(name), 0)
}

// all returns a register full of b.
func (f *file) all(b bits) reg.VecVirtual {
	r := f.vec()
	f.VBROADCASTSS(f.constant(b), r)
	return r
}

func (f *file) zero() reg.VecVirtual {
	r := f.vec()
	if f.wide {
		f.VPXORD(r, r, r)
	} else {
		f.VXORPS(r, r, r)
	}
	return r
}

func (f *file) copy(x operand.Op) reg.VecVirtual {
	r := f.vec()
	f.VMOVAPS(x, r)
	return r
}

// to emits an instruction whose last operand is the destination; one of the others may be bits.
func (f *file) to(dst operand.Op, name string, ops ...any) {
	args := make([]reflect.Value, 0, len(ops)+1)
	for _, op := range ops {
		if b, ok := op.(bits); ok {
			op = f.constant(b)
			if f.wide {
				name += "_BCST"
			}
		}
		args = append(args, reflect.ValueOf(op))
	}
	method := reflect.ValueOf(f.Context).MethodByName(name)
	if !method.IsValid() {
		panic("no instruction " + name)
	}
	method.Call(append(args, reflect.ValueOf(dst)))
}

// op is to, with a new register as destination.
func (f *file) op(name string, ops ...any) reg.VecVirtual {
	dst := f.vec()
	f.to(dst, name, ops...)
	return dst
}

// Arithmetic. y may be bits or memory.
func (f *file) add(x, y any) reg.VecVirtual { return f.op("VADDPS", y, x) }
func (f *file) sub(x, y any) reg.VecVirtual { return f.op("VSUBPS", y, x) }
func (f *file) mul(x, y any) reg.VecVirtual { return f.op("VMULPS", y, x) }
func (f *file) div(x, y any) reg.VecVirtual { return f.op("VDIVPS", y, x) }
func (f *file) and(x, y any) reg.VecVirtual { return f.op("VANDPS", y, x) }
func (f *file) or(x, y any) reg.VecVirtual  { return f.op("VORPS", y, x) }
func (f *file) xor(x, y any) reg.VecVirtual { return f.op("VXORPS", y, x) }
func (f *file) sqrt(x any) reg.VecVirtual   { return f.op("VSQRTPS", x) }

// min and max give y if one is NaN, or if both are 0.
func (f *file) min(x, y any) reg.VecVirtual { return f.op("VMINPS", y, x) }
func (f *file) max(x, y any) reg.VecVirtual { return f.op("VMAXPS", y, x) }

// abs clears the sign bit.
func (f *file) abs(x any) reg.VecVirtual { return f.and(x, bits(0x7fffffff)) }

// Fused, in place: horner is p = p x + c, plus is s += x y, minus is s -= x y.
func (f *file) horner(p operand.Op, x, c any) { f.to(p, "VFMADD213PS", c, x) }
func (f *file) plus(s operand.Op, x, y any)   { f.to(s, "VFMADD231PS", y, x) }
func (f *file) minus(s operand.Op, x, y any)  { f.to(s, "VFNMADD231PS", y, x) }

// polynomial computes c[0] x^n + ... + c[n].
func (f *file) polynomial(x reg.VecVirtual, c ...float64) reg.VecVirtual {
	p := f.all(k(c[0]))
	for _, next := range c[1:] {
		f.horner(p, x, k(next))
	}
	return p
}

// round rounds to the nearest integer, ties to even.
func (f *file) round(x any) reg.VecVirtual {
	if f.wide {
		return f.op("VRNDSCALEPS", operand.U8(8), x)
	}
	return f.op("VROUNDPS", operand.U8(8), x)
}

// toInt converts to integers, rounding to nearest, and fromInt converts back.
func (f *file) toInt(x any) reg.VecVirtual   { return f.op("VCVTPS2DQ", x) }
func (f *file) fromInt(x any) reg.VecVirtual { return f.op("VCVTDQ2PS", x) }

func (f *file) addInt(x, y any) reg.VecVirtual { return f.op("VPADDD", y, x) }
func (f *file) subInt(x, y any) reg.VecVirtual { return f.op("VPSUBD", y, x) }

func (f *file) shiftRight(x any, by int) reg.VecVirtual {
	return f.op("VPSRAD", operand.U8(by), x)
}
func (f *file) shiftLeft(x any, by int) reg.VecVirtual { return f.op("VPSLLD", operand.U8(by), x) }

// The predicates of compare. All but unequal and unordered are false if one is NaN.
const (
	equal            = operand.U8(0x00)
	less             = operand.U8(0x11)
	lessEqual        = operand.U8(0x12)
	unordered        = operand.U8(0x03)
	unorderedOrEqual = operand.U8(0x08)
	unequal          = operand.U8(0x04)
	lessOrNaN        = operand.U8(0x19) // x < y, or one is NaN
	notLess          = operand.U8(0x15) // x >= y, or one is NaN
	atLeast          = operand.U8(0x1d)
	greater          = operand.U8(0x1e)
)

// compare gives the lanes in which the predicate holds for x and y. y may be bits.
func (f *file) compare(is operand.U8, x, y any) operand.Op {
	if f.wide {
		c := f.K()
		f.to(c, "VCMPPS", is, y, x)
		return c
	}
	return f.op("VCMPPS", is, y, x)
}

// choose gives yes where c holds, else no.
func (f *file) choose(c operand.Op, yes, no operand.Op) reg.VecVirtual {
	r := f.vec()
	if f.wide {
		f.VBLENDMPS(yes, no, c, r)
	} else {
		f.VBLENDVPS(c, yes, no, r)
	}
	return r
}

// keep gives x where c holds, else 0.
func (f *file) keep(c operand.Op, x operand.Op) reg.VecVirtual {
	r := f.vec()
	if f.wide {
		f.VMOVAPS_Z(x, c, r)
	} else {
		f.VANDPS(c, x, r)
	}
	return r
}

// spread broadcasts the first lane of x to all lanes.
func (f *file) spread(x reg.VecVirtual) reg.VecVirtual {
	r := f.vec()
	f.VBROADCASTSS(x.AsX(), r)
	return r
}
