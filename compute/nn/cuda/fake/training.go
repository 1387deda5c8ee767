package fake

import (
	"math/bits"

	"github.com/stoker-ml/stoker/compute/nn/cuda"
)

func dropout(c *call) {
	mask, n, threshold, kept := c.pointer(), c.int(), c.int(), c.float()
	seed, stream, at := c.long(), c.long(), c.pointer()
	c.perElement(blocks(n, 4))
	to, step := span[float32](c, mask, n, write), span[uint64](c, at, 1, read)[0]
	for i := range to {
		words := [4]uint32{uint32(i / 4), uint32(step), uint32(stream), uint32(step>>32) ^ uint32(stream>>32)}
		to[i] = kept
		if philox(words, uint32(seed), uint32(seed>>32))[i%4]>>8 < uint32(threshold) {
			to[i] = 0
		}
	}
}

// philox is Philox 4x32 of 10 rounds (Salmon et al. 2011).
func philox(x [4]uint32, k0, k1 uint32) [4]uint32 {
	for range 10 {
		hi0, lo0 := bits.Mul32(0xD2511F53, x[0])
		hi1, lo1 := bits.Mul32(0xCD9E8D57, x[2])
		x = [4]uint32{hi1 ^ x[1] ^ k0, lo1, hi0 ^ x[3] ^ k1, lo0}
		k0, k1 = k0+0x9E3779B9, k1+0xBB67AE85
	}
	return x
}

// rule is an optimizer's, as the kernel gets it.
type rule struct {
	op, flags                      int
	rate, epsilon, decay, mu, rho  float32
	newer1, newer2, newer, l1, l22 float32
}

// slotsOf is how many numbers each rule keeps, in the order of kernel.RuleOp.
var slotsOf = [...]int{0, 1, 2, 1, 3, 2}

func update(c *call) {
	weights, grads, slots := c.pointer(), c.pointer(), [3]cuda.Pointer{c.pointer(), c.pointer(), c.pointer()}
	n := c.int()
	r := rule{c.int(), c.int(), c.float(), c.float(), c.float(), c.float(), c.float(), c.float(), c.float(), c.float(), c.float(), c.float()}
	c.perElement(n)
	if r.op < 0 || r.op >= len(slotsOf) {
		c.fail("fake: no rule %d", r.op)
	}
	w, g := span[float32](c, weights, n, read|write), span[float32](c, grads, n, read)
	var s [3][]float32
	for i := range slotsOf[r.op] {
		s[i] = span[float32](c, slots[i], n, read|write)
	}
	for i := range w {
		w[i] = r.next(w[i]-r.decay*w[i], g[i], i, s)
	}
}

// next is the new weight i, with its slots changed: the formulas of kernel.RuleOp.
func (r rule) next(w, g float32, i int, s [3][]float32) float32 {
	switch r.op {
	case 1:
		s[0][i] = r.mu*s[0][i] - r.rate*g
		if r.flags&1 != 0 {
			return w + r.mu*s[0][i] - r.rate*g
		}
		return w + s[0][i]
	case 2:
		s[0][i] += (g - s[0][i]) * r.newer1
		s[1][i] += (g*g - s[1][i]) * r.newer2
		return w - r.rate*s[0][i]/(sqrt(s[1][i])+r.epsilon)
	case 3:
		s[0][i] += g * g
		return w - r.rate*g/sqrt(s[0][i]+r.epsilon)
	case 4:
		return r.rmsprop(w, g, i, s)
	case 5:
		return r.ftrl(w, g, i, s)
	}
	return w - r.rate*g
}

func (r rule) rmsprop(w, g float32, i int, s [3][]float32) float32 {
	s[0][i] = r.rho*s[0][i] + r.newer*g*g
	d := s[0][i]
	if r.flags&2 != 0 {
		s[2][i] = r.rho*s[2][i] + r.newer*g
		d -= s[2][i] * s[2][i]
	}
	change := r.rate * g / sqrt(d+r.epsilon)
	if r.flags&4 != 0 {
		s[1][i] = r.mu*s[1][i] + change
		change = s[1][i]
	}
	return w - change
}

func (r rule) ftrl(w, g float32, i int, s [3][]float32) float32 {
	before := sqrt(s[0][i])
	s[0][i] += g * g
	now := sqrt(s[0][i])
	s[1][i] += g - (now-before)/r.rate*w
	return (max(min(s[1][i], r.l1), -r.l1) - s[1][i]) / (now/r.rate + r.l22)
}
