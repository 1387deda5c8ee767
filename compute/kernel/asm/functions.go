package main

import "github.com/mmcloughlin/avo/reg"

// exp computes e^x as 2^n e^r with |r| <= ln(2)/2 and the polynomial of Cephes' expf. Results that
// underflow to 0 are not computed, since an underflow costs a hundred times as much as an ordinary
// number.
func (f *file) exp(x reg.VecVirtual) reg.VecVirtual {
	there := f.compare(notLess, x, k(-104))
	x = f.keep(there, f.min(f.all(k(100)), x)) // larger ones are infinite; NaN stays
	n := f.round(f.mul(x, k(1.44269504088896341)))
	r := x
	f.minus(r, n, k(0.693359375))
	f.minus(r, n, k(-2.12194440e-4))
	p := f.polynomial(r, 1.9875691500e-4, 1.3981999507e-3, 8.3334519073e-3, 4.1665795894e-2, 1.6666665459e-1, 5.0000001201e-1)
	f.horner(p, f.mul(r, r), r)
	return f.keep(there, f.scale(f.add(p, k(1)), n))
}

// scale computes p 2^n for an integer n of -160 to 150, rounded once.
func (f *file) scale(p, n reg.VecVirtual) reg.VecVirtual {
	if f.wide {
		return f.op("VSCALEFPS", n, p)
	}
	i := f.toInt(n)
	half := f.shiftRight(i, 1)
	i = f.subInt(i, half)
	return f.mul(f.mul(p, f.powerOf2(half)), f.powerOf2(i))
}

// powerOf2 computes 2^i for an integer i of -126 to 127.
func (f *file) powerOf2(i reg.VecVirtual) reg.VecVirtual {
	return f.shiftLeft(f.addInt(i, bits(127)), 23)
}

// parts splits a positive normal number: u = 2^n (1 + part) with 1 + part from sqrt(1/2) to
// sqrt(2).
func (f *file) parts(u reg.VecVirtual) (n, part reg.VecVirtual) {
	const root = bits(0x3f3504f3)
	i := f.subInt(u, root)
	n = f.fromInt(f.shiftRight(i, 23))
	m := f.addInt(f.and(i, bits(0x007fffff)), root)
	return n, f.sub(m, k(1))
}

// logOf computes log(2^n (1 + part)), by the polynomial of Cephes' logf.
func (f *file) logOf(n, part reg.VecVirtual) reg.VecVirtual {
	z := f.mul(part, part)
	y := f.polynomial(part, 7.0376836292e-2, -1.1514610310e-1, 1.1676998740e-1, -1.2420140846e-1, 1.4249322787e-1,
		-1.6668057665e-1, 2.0000714765e-1, -2.4999993993e-1, 3.3333331174e-1)
	y = f.mul(y, f.mul(part, z))
	f.plus(y, n, k(-2.12194440e-4))
	f.minus(y, z, k(0.5))
	y = f.add(part, y)
	f.plus(y, n, k(0.693359375))
	return y
}

func (f *file) log(x reg.VecVirtual) reg.VecVirtual {
	tiny := f.compare(less, x, bits(0x00800000))
	n, part := f.parts(f.choose(tiny, f.mul(x, k(1<<23)), x))
	n = f.sub(n, f.keep(tiny, f.all(k(23))))
	y := f.logOf(n, part)
	y = f.choose(f.compare(equal, x, k(inf)), x, y)
	y = f.choose(f.compare(equal, x, k(0)), f.all(k(-inf)), y)
	return f.choose(f.compare(lessOrNaN, x, k(0)), f.all(bits(0x7fc00000)), y)
}

// log1p computes log(1 + e) for e from 0 to 1: the rounding error of 1 + e is added to the part.
func (f *file) log1p(e reg.VecVirtual) reg.VecVirtual {
	u := f.add(e, k(1))
	lost := f.sub(e, f.sub(u, k(1)))
	n, part := f.parts(u)
	half := f.all(k(1)) // 2^-n, since n is 0 or 1
	f.minus(half, n, k(0.5))
	f.plus(part, lost, half)
	return f.logOf(n, part)
}

// expOfMinusAbs computes exp(-|x|).
func (f *file) expOfMinusAbs(x reg.VecVirtual) reg.VecVirtual {
	return f.exp(f.or(x, bits(0x80000000)))
}

// sigmoid computes 1/(1+e) for x >= 0, else e/(1+e), with e = exp(-|x|).
func (f *file) sigmoid(x reg.VecVirtual) reg.VecVirtual { return f.sigmoidBy(x, f.expOfMinusAbs(x)) }

func (f *file) sigmoidBy(x, e reg.VecVirtual) reg.VecVirtual {
	one := f.all(k(1))
	above := f.choose(f.compare(lessOrNaN, x, k(0)), e, one)
	sum := f.add(e, one)
	return f.quotient(above, sum, f.sub(e, f.sub(sum, one)))
}

// quotient computes x / (d + lost), where lost is the rounding error of d: one step of Newton from
// x times the rounded 1/d.
func (f *file) quotient(x, d, lost reg.VecVirtual) reg.VecVirtual {
	inverse := f.div(f.all(k(1)), d)
	y := f.mul(x, inverse)
	left := f.copy(x)
	f.minus(left, y, d)
	f.minus(left, y, lost)
	f.plus(y, left, inverse)
	return y
}

// softplus computes max(x, 0) + log(1 + exp(-|x|)).
func (f *file) softplus(x reg.VecVirtual) reg.VecVirtual {
	y := f.log1p(f.expOfMinusAbs(x))
	return f.add(f.max(f.zero(), x), y)
}

// tanh computes m/(m+2) of |x|, with m = exp(2|x|) - 1, and x's sign.
func (f *file) tanh(x reg.VecVirtual) reg.VecVirtual {
	sign := f.and(x, bits(0x80000000))
	z := f.min(f.all(k(20)), f.mul(f.abs(x), k(2))) // larger ones give 1; NaN stays
	n := f.round(f.mul(z, k(1.44269504088896341)))
	f.minus(z, n, k(0.693359375))
	f.minus(z, n, k(-2.12194440e-4))
	m := f.polynomial(z, 1.9875691500e-4, 1.3981999507e-3, 8.3334519073e-3, 4.1665795894e-2, 1.6666665459e-1, 5.0000001201e-1)
	f.horner(m, f.mul(z, z), z)
	power := f.powerOf2(f.toInt(n))
	f.horner(m, power, f.sub(power, k(1)))
	d := f.add(m, k(2))
	of2 := f.sub(d, m)
	lost := f.add(f.sub(f.all(k(2)), of2), f.sub(m, f.sub(d, of2)))
	return f.or(f.quotient(m, d, lost), sign)
}
