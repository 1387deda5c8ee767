package main

import "github.com/mmcloughlin/avo/reg"

type unary struct {
	name string
	do   func(f *file, x reg.VecVirtual) reg.VecVirtual
}

// unaries are the functions of kernel.Func, in branch-free form.
var unaries = []unary{
	{"relu", func(f *file, x reg.VecVirtual) reg.VecVirtual { return f.max(f.zero(), x) }},
	{"sigmoid", (*file).sigmoid},
	{"tanh", (*file).tanh},
	{"softplus", (*file).softplus},
	{"neg", func(f *file, x reg.VecVirtual) reg.VecVirtual { return f.xor(x, bits(0x80000000)) }},
	{"abs", func(f *file, x reg.VecVirtual) reg.VecVirtual { return f.abs(x) }},
	{"exp", (*file).exp},
	{"log", (*file).log},
	{"sqrt", func(f *file, x reg.VecVirtual) reg.VecVirtual { return f.sqrt(x) }},
	{"square", func(f *file, x reg.VecVirtual) reg.VecVirtual { return f.mul(x, x) }},
	{"inverse", func(f *file, x reg.VecVirtual) reg.VecVirtual { return f.div(f.all(k(1)), x) }},
	{"sign", func(f *file, x reg.VecVirtual) reg.VecVirtual { return f.sign(x) }},
	{"step", func(f *file, x reg.VecVirtual) reg.VecVirtual { return f.step(x) }},
}

// step gives 1 where x > 0.
func (f *file) step(x reg.VecVirtual) reg.VecVirtual {
	return f.keep(f.compare(greater, x, k(0)), f.all(k(1)))
}

// sign gives x itself where that is 0 or NaN.
func (f *file) sign(x reg.VecVirtual) reg.VecVirtual {
	one := f.or(f.and(x, bits(0x80000000)), k(1))
	return f.choose(f.compare(unorderedOrEqual, x, k(0)), x, one)
}

func writeMap(f *file) {
	f.each(func(suffix string) {
		for _, u := range unaries {
			f.function(u.name+suffix, "is y = "+u.name+"(x) of n elements.", "func(y, x *float32, n int)")
			y, x := f.arg("y"), f.arg("x")
			f.blocks(f.extentOf(f.arg("n")), func(b block) { b.store(u.do(f, b.load(x)), y) })
			f.end()
		}
	})
}

// slopes are f'(x) by the argument v of Slope.
var slopes = []unary{
	{"relu", func(f *file, v reg.VecVirtual) reg.VecVirtual { return f.step(v) }},
	{"sigmoid", func(f *file, v reg.VecVirtual) reg.VecVirtual { return f.mul(v, f.sub(f.all(k(1)), v)) }},
	{"tanh", func(f *file, v reg.VecVirtual) reg.VecVirtual { return f.sub(f.all(k(1)), f.mul(v, v)) }},
	{"softplus", (*file).sigmoid},
	{"abs", (*file).sign},
}

func writeSlope(f *file) {
	f.each(func(suffix string) {
		for _, u := range slopes {
			f.function(u.name+"Slope"+suffix, "is dx = dy f'(v) of n elements.", "func(dx, dy, v *float32, n int)")
			dx, dy, v := f.arg("dx"), f.arg("dy"), f.arg("v")
			f.blocks(f.extentOf(f.arg("n")), func(b block) { b.store(f.mul(b.load(dy), u.do(f, b.load(v))), dx) })
			f.end()
		}
	})
}
