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

// philox computes Philox 4x32 of 10 rounds (Salmon et al. 2011).
func philox(x [4]uint32, k0, k1 uint32) [4]uint32 {
	for range 10 {
		hi0, lo0 := bits.Mul32(0xD2511F53, x[0])
		hi1, lo1 := bits.Mul32(0xCD9E8D57, x[2])
		x = [4]uint32{hi1 ^ x[1] ^ k0, lo1, hi0 ^ x[3] ^ k1, lo0}
		k0, k1 = k0+0x9E3779B9, k1+0xBB67AE85
	}
	return x
}

// update executes a formula's instructions on one weight after the other: the registers are w, g,
// three slots, six numbers, and five intermediate values.
func update(c *call) {
	weights, grads, at := c.pointer(), c.pointer(), [3]cuda.Pointer{c.pointer(), c.pointer(), c.pointer()}
	n, count, length := c.int(), c.int(), c.int()
	var code [6]uint64
	for i := range code {
		code[i] = c.long()
	}
	decay, numbers := c.float(), [6]float32{}
	for i := range numbers {
		numbers[i] = c.float()
	}
	c.perElement(n)
	if count > len(at) || length > 4*len(code) {
		c.fail("fake: a formula of %d slots and %d instructions", count, length)
	}
	w, g := span[float32](c, weights, n, read|write), span[float32](c, grads, n, read)
	slots := make([][]float32, count)
	for i := range slots {
		slots[i] = span[float32](c, at[i], n, read|write)
	}
	for i := range w {
		r := [16]float32{w[i] - decay*w[i], g[i]}
		for k, slot := range slots {
			r[2+k] = slot[i]
		}
		copy(r[5:], numbers[:])
		for k := range length {
			in := code[k/4] >> (k % 4 * 16)
			r[in>>8&15] = operation(int(in>>12&15), r[in>>4&15], r[in&15])
		}
		w[i] = r[0]
		for k, slot := range slots {
			slot[i] = r[2+k]
		}
	}
}

// operation executes one instruction: operations of two operands come first, then sqrt, neg, abs
// and sign.
func operation(op int, x, y float32) float32 {
	const root, neg, abs, sign = 11, 5, 6, 14 // as apply numbers them
	if op < 6 {
		return combined(op, x, y)
	}
	return apply([...]int{root, neg, abs, sign}[op-6], x)
}
