package main

import (
	"strings"

	"github.com/mmcloughlin/avo/operand"
	"github.com/mmcloughlin/avo/reg"
)

// rule is an optimizer's update of a block of weights w, gradients g and slots s, in place, with
// its numbers.
type rule struct {
	name    string
	slots   []string
	numbers []string
	do      func(f *file, w, g reg.VecVirtual, s []reg.VecVirtual, n map[string]reg.VecVirtual) reg.VecVirtual
}

var rules = []rule{
	{"sgd", nil, []string{"rate"},
		func(f *file, w, g reg.VecVirtual, _ []reg.VecVirtual, n map[string]reg.VecVirtual) reg.VecVirtual {
			return f.sub(w, f.mul(n["rate"], g))
		}},
	{"momentum", []string{"m"}, []string{"rate", "mu"},
		func(f *file, w, g reg.VecVirtual, s []reg.VecVirtual, n map[string]reg.VecVirtual) reg.VecVirtual {
			s[0] = f.sub(f.mul(n["mu"], s[0]), f.mul(n["rate"], g))
			return f.add(w, s[0])
		}},
	{"nesterov", []string{"m"}, []string{"rate", "mu"},
		func(f *file, w, g reg.VecVirtual, s []reg.VecVirtual, n map[string]reg.VecVirtual) reg.VecVirtual {
			change := f.mul(n["rate"], g)
			s[0] = f.sub(f.mul(n["mu"], s[0]), change)
			return f.add(w, f.sub(f.mul(n["mu"], s[0]), change))
		}},
	{"adam", []string{"m", "v"}, []string{"rate", "newer1", "newer2", "epsilon"},
		func(f *file, w, g reg.VecVirtual, s []reg.VecVirtual, n map[string]reg.VecVirtual) reg.VecVirtual {
			s[0] = f.add(s[0], f.mul(f.sub(g, s[0]), n["newer1"]))
			s[1] = f.add(s[1], f.mul(f.sub(f.mul(g, g), s[1]), n["newer2"]))
			return f.sub(w, f.div(f.mul(n["rate"], s[0]), f.add(f.sqrt(s[1]), n["epsilon"])))
		}},
	{"adagrad", []string{"a"}, []string{"rate", "epsilon"},
		func(f *file, w, g reg.VecVirtual, s []reg.VecVirtual, n map[string]reg.VecVirtual) reg.VecVirtual {
			s[0] = f.add(s[0], f.mul(g, g))
			return f.sub(w, f.div(f.mul(n["rate"], g), f.sqrt(f.add(s[0], n["epsilon"]))))
		}},
	{"ftrl", []string{"a", "z"}, []string{"rate", "l1", "twiceL2"},
		func(f *file, w, g reg.VecVirtual, s []reg.VecVirtual, n map[string]reg.VecVirtual) reg.VecVirtual {
			before := f.sqrt(s[0])
			s[0] = f.add(s[0], f.mul(g, g))
			now := f.sqrt(s[0])
			s[1] = f.add(s[1], f.sub(g, f.mul(f.div(f.sub(now, before), n["rate"]), w)))
			clipped := f.max(f.xor(n["l1"], bits(0x80000000)), f.min(n["l1"], s[1])) // NaN stays
			return f.div(f.sub(clipped, s[1]), f.add(f.div(now, n["rate"]), n["twiceL2"]))
		}},
}

// rmsprop returns the plain rule, or that with momentum, centered, or both.
func rmsprop(centered, momentum bool) rule {
	r := rule{name: "rmsprop", slots: []string{"v", "m", "a"}, numbers: []string{"rate", "rho", "newer", "epsilon", "mu"}}
	if centered {
		r.name += "Centered"
	}
	if momentum {
		r.name += "Momentum"
	}
	r.do = func(f *file, w, g reg.VecVirtual, s []reg.VecVirtual, n map[string]reg.VecVirtual) reg.VecVirtual {
		s[0] = f.add(f.mul(n["rho"], s[0]), f.mul(n["newer"], f.mul(g, g)))
		d := s[0]
		if centered {
			s[2] = f.add(f.mul(n["rho"], s[2]), f.mul(n["newer"], g))
			d = f.sub(d, f.mul(s[2], s[2]))
		}
		change := f.div(f.mul(n["rate"], g), f.sqrt(f.add(d, n["epsilon"])))
		if momentum {
			s[1] = f.add(f.mul(n["mu"], s[1]), change)
			change = s[1]
		}
		return f.sub(w, change)
	}
	return r
}

func writeUpdate(f *file) {
	all := append(rules[:len(rules):len(rules)], rmsprop(false, false), rmsprop(false, true), rmsprop(true, false), rmsprop(true, true))
	f.each(func(suffix string) {
		for _, r := range all {
			f.rule(r, suffix)
		}
	})
}

func (f *file) rule(r rule, suffix string) {
	pointers := append([]string{"w", "grads"}, r.slots...)
	f.function(r.name+suffix, "is one step of n weights; before it, w -= decay w.",
		"func("+strings.Join(pointers, ", ")+" *float32, n int, decay, "+strings.Join(r.numbers, ", ")+" float32)")
	w, g := f.arg("w"), f.arg("grads")
	var slots []reg.GPVirtual
	for _, s := range r.slots {
		slots = append(slots, f.arg(s))
	}
	usual := f.flushing()
	decay, numbers := f.number("decay"), map[string]reg.VecVirtual{}
	for _, n := range r.numbers {
		numbers[n] = f.number(n)
	}
	f.blocks(f.extentOf(f.arg("n")), func(b block) {
		old := make([]reg.VecVirtual, len(slots))
		for i, s := range slots {
			old[i] = b.load(s)
		}
		s := append([]reg.VecVirtual{}, old...)
		before := b.load(w)
		before = f.sub(before, f.mul(decay, before))
		after := r.do(f, before, b.load(g), s, numbers)
		for i := range s {
			if s[i] != old[i] {
				b.store(s[i], slots[i])
			}
		}
		b.store(after, w)
	})
	f.VLDMXCSR(usual)
	f.end()
}

// flushing makes numbers below 2^-126 count as 0 from here on, and returns where the usual state is
// saved. The slots of weights whose gradient stays 0 decay to such numbers, and each would cost a
// hundred times as much as an ordinary one. TensorFlow does the same.
func (f *file) flushing() (usual operand.Mem) {
	const denormalsAreZero, flushToZero = 1 << 6, 1 << 15
	usual = f.AllocLocal(8)
	state := f.GP32()
	f.VSTMXCSR(usual)
	f.MOVL(usual, state)
	f.ORL(operand.U32(denormalsAreZero|flushToZero), state)
	f.MOVL(state, usual.Offset(4))
	f.VLDMXCSR(usual.Offset(4))
	return usual
}
