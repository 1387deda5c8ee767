package main

import (
	"github.com/mmcloughlin/avo/operand"
	"github.com/mmcloughlin/avo/reg"
)

// Short rows are packed: a register holds as many as fit, in the order of memory, and each step
// processes all of them at once. Sums have the order of tree, within each row.

// packed describes the lanes of a register: the table of kernel.packing.
type packed struct {
	f      *file
	block  block // the lanes in use
	begins reg.VecVirtual
	folds  []fold
}

// fold is a step of a tree: from is the lane that each lane reads, its own if there is none, and
// there reports whether there is one.
type fold struct {
	from  reg.VecVirtual
	there operand.Op
}

// The table's rows, of 16 lanes each.
const (
	packedBegins = 0
	packedFrom   = 1
	packedThere  = 4
)

func (f *file) packedBy(table, mask reg.GPVirtual) packed {
	p := packed{f: f, block: block{f: f, mask: f.mask(operand.Mem{Base: mask})}, begins: f.packedRow(table, packedBegins)}
	folds := 2 // for up to 4 lanes
	if f.wide {
		folds = 3
	}
	for i := 3 - folds; i < 3; i++ {
		// The operand is in memory, since AVX2 has few registers.
		there := operand.Op(operand.Mem{Base: table, Disp: 64 * (packedThere + i)})
		if f.wide {
			there = f.mask(there)
		}
		p.folds = append(p.folds, fold{f.packedRow(table, packedFrom+i), there})
	}
	return p
}

func (f *file) packedRow(table reg.GPVirtual, i int) reg.VecVirtual {
	return f.inLanes(operand.Mem{Base: table, Disp: 64 * i})
}

func (f *file) inLanes(at operand.Op) reg.VecVirtual {
	r := f.vec()
	f.VMOVUPS(at, r)
	return r
}

// mask gives the lanes whose words in memory are all ones; other words are 0.
func (f *file) mask(at operand.Op) operand.Op {
	w := f.inLanes(at)
	if !f.wide {
		return w
	}
	m := f.K()
	f.VPTESTMD(w, w, m)
	return m
}

// largest gives the maximum of each row, in all of its lanes. A NaN may get lost, as in the other
// largest.
func (p packed) largest(x reg.VecVirtual) reg.VecVirtual {
	for _, step := range p.folds {
		x = p.f.op("VMAXPS", p.f.op("VPERMPS", x, step.from), x)
	}
	return p.f.op("VPERMPS", x, p.begins)
}

// sum gives the sum of each row, in all of its lanes.
func (p packed) sum(x reg.VecVirtual) reg.VecVirtual {
	for _, step := range p.folds {
		x = p.f.add(x, p.f.keep(step.there, p.f.op("VPERMPS", x, step.from)))
	}
	return p.f.op("VPERMPS", x, p.begins)
}

// packed generates one function: do computes the value to store at the first operand from those at
// the others.
func (f *file) packed(name, suffix, doc string, operands []string, do func(p packed, in []reg.GPVirtual) reg.VecVirtual) {
	signature := "func("
	for _, o := range operands {
		signature += o + ", "
	}
	f.function(name+"Packed"+suffix, doc, signature[:len(signature)-2]+" *float32, groups, elements int, table, mask *uint32)")
	pointers := make([]reg.GPVirtual, len(operands))
	for i, o := range operands {
		pointers[i] = f.arg(o)
	}
	p, elements := f.packedBy(f.arg("table"), f.arg("mask")), f.arg("elements")
	f.times(f.arg("groups"), func() {
		p.block.store(do(p, pointers[1:]), pointers[0])
		f.advance(elements, pointers...)
	})
	f.end()
}

func (f *file) packedSoftmaxes(suffix string) {
	of := func(what string) string {
		return "is " + what + " of groups of rows, at least one, each with so many elements in a register; table and mask say how they lie there."
	}
	powers := func(p packed, x reg.GPVirtual) (distance, power reg.VecVirtual) {
		v := p.block.load(x)
		distance = f.sub(v, p.largest(v))
		return distance, f.exp(distance)
	}
	f.packed("softmax", suffix, of("Softmax"), []string{"y", "x"}, func(p packed, in []reg.GPVirtual) reg.VecVirtual {
		_, power := powers(p, in[0])
		return f.div(power, p.sum(power))
	})
	f.packed("logSoftmax", suffix, of("LogSoftmax"), []string{"y", "x"}, func(p packed, in []reg.GPVirtual) reg.VecVirtual {
		distance, power := powers(p, in[0])
		return f.sub(distance, f.log(p.sum(power)))
	})
	f.packed("softmaxSlope", suffix, of("SoftmaxSlope"), []string{"dx", "dy", "y"}, func(p packed, in []reg.GPVirtual) reg.VecVirtual {
		dy, y := p.block.load(in[0]), p.block.load(in[1])
		return f.mul(f.sub(dy, p.sum(f.mul(dy, y))), y)
	})
	f.packed("logSoftmaxSlope", suffix, of("LogSoftmaxSlope"), []string{"dx", "dy", "y"}, func(p packed, in []reg.GPVirtual) reg.VecVirtual {
		dy := p.block.load(in[0])
		sum := p.sum(dy)
		f.minus(dy, f.exp(p.block.load(in[1])), sum)
		return dy
	})
}
