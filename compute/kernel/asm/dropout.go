package main

import (
	"github.com/mmcloughlin/avo/attr"
	"github.com/mmcloughlin/avo/operand"
	"github.com/mmcloughlin/avo/reg"
)

// A lane of 128 bits holds a counter c of Philox 4x32, so that four of them give 16 elements in
// their order. A round is
//
//	c = [high(M1 c2) ^ c1 ^ k0, low(M1 c2), high(M0 c0) ^ c3 ^ k1, low(M0 c0)],  then k += W
//
// The products of the even words are [low, high] of M0 c0, then of M1 c2: reversed, they are
// combined with c1 ^ k0 and c3 ^ k1.
func writeDropout(f *file) {
	f.words("philox_factors", 0xD2511F53, 0, 0xCD9E8D57, 0)
	f.words("philox_steps", 0x9E3779B9, 0, 0xBB67AE85, 0)
	f.words("philox_lanes", 0, 0, 0, 0, 1, 0, 0, 0, 2, 0, 0, 0, 3, 0, 0, 0)
	f.words("philox_block", 4, 0, 0, 0)
	f.each(func(suffix string) {
		f.function("dropout"+suffix, "is Dropout of n elements, from the first of a counter; key is [k0, 0, k1, 0].",
			"func(mask *float32, n int, counter, key *uint32, threshold uint32, kept float32)")
		mask, key, kept := f.arg("mask"), f.fourWords(f.arg("key")), f.number("kept")
		threshold := f.integer("threshold")
		counters, first := make([]reg.VecVirtual, f.halves()), f.fourWords(f.arg("counter"))
		for h := range counters {
			counters[h] = f.vec()
			f.VMOVUPS(operand.NewDataAddr(operand.NewStaticSymbol("philox_lanes"), 32*h), counters[h])
			counters[h] = f.addInt(counters[h], first)
		}
		f.blocks(f.extentOf(f.arg("n")), func(b block) {
			c := f.philox(f.copy(counters[b.half]), f.copy(key))
			f.to(counters[b.half], "VPADDD", f.fourWordsAt("philox_block"), counters[b.half])
			b.store(f.keepAtLeast(f.op("VPSRLD", operand.U8(8), c), threshold, kept), mask)
		})
		f.end()
	})
}

func (f *file) philox(c, key reg.VecVirtual) reg.VecVirtual {
	factors, steps := f.fourWordsAt("philox_factors"), f.fourWordsAt("philox_steps")
	for round := range 10 {
		if round > 0 {
			f.to(key, "VPADDD", steps, key)
		}
		products := f.op("VPSHUFD", operand.U8(0x1b), f.op("VPMULUDQ", factors, c))
		c = f.xorInt(f.xorInt(f.op("VPSRLQ", operand.U8(32), c), key), products)
	}
	return c
}

func (f *file) xorInt(x, y reg.VecVirtual) reg.VecVirtual {
	if f.wide {
		return f.op("VPXORD", y, x)
	}
	return f.op("VPXOR", y, x)
}

// keepAtLeast gives x where the integer v is at least least, else 0.
func (f *file) keepAtLeast(v, least, x reg.VecVirtual) reg.VecVirtual {
	if f.wide {
		c := f.K()
		f.VPCMPD(operand.U8(5), least, v, c)
		return f.keep(c, x)
	}
	return f.op("VANDNPS", x, f.op("VPCMPGTD", v, least))
}

// words defines data of that name.
func (f *file) words(name string, words ...uint32) {
	f.StaticGlobal(name)
	f.DataAttributes(attr.RODATA | attr.NOPTR)
	for _, w := range words {
		f.AppendDatum(operand.U32(w))
	}
}

// fourWords loads the four words at a pointer into each lane of 128 bits.
func (f *file) fourWords(pointer reg.Register) reg.VecVirtual {
	return f.lanesOf(operand.Mem{Base: pointer})
}

func (f *file) fourWordsAt(name string) reg.VecVirtual {
	return f.lanesOf(operand.NewDataAddr(operand.NewStaticSymbol(name), 0))
}

func (f *file) lanesOf(m operand.Mem) reg.VecVirtual {
	r := f.vec()
	if f.wide {
		f.VBROADCASTI32X4(m, r)
	} else {
		f.VBROADCASTI128(m, r)
	}
	return r
}

// integer loads a 32-bit argument into all lanes.
func (f *file) integer(name string) reg.VecVirtual {
	word, low, r := f.GP32(), f.XMM(), f.vec()
	f.Load(f.Param(name), word)
	f.VMOVD(word, low)
	f.VPBROADCASTD(low, r)
	return r
}
