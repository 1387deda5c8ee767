package kernel

import (
	"math"
	"math/bits"
)

// Dropout computes the mask of a layer at a step: mask[i] is 0 with probability rate, else
// 1/(1-rate). The random number of i depends only on seed, stream, step and i: it is word i mod 4
// of Philox 4x32-10 (Salmon et al. 2011), uniform = its 24 high bits / 2^24, and mask[i] is 0 if
// uniform < rate. The key is the seed, low half first; the counter's words are i/4, step, stream,
// each mod 2^32, and the high halves of step and stream, combined by exclusive or.
func (t *ThreadPool) Dropout(mask []float32, rate float32, seed, stream, step uint64) {
	m := newMask(rate, seed, stream, step)
	if t.alone(len(mask), grainSlow) {
		m.draw(currentISA, mask, 0)
		return
	}
	t.divide(len(mask), grainSlow, task{do: dropoutPart, isa: currentISA, y: mask, mask: m})
}

func dropoutPart(t *task, from, to int) { t.mask.draw(t.isa, t.y[from:to], from) }

// mask holds the parameters of a Dropout.
type mask struct {
	key       [4]uint32 // its two words, each before a 0
	counter   [4]uint32 // of element 0
	threshold uint32    // of the 24 bits: numbers below it are dropped
	kept      float32
}

func newMask(rate float32, seed, stream, step uint64) mask {
	threshold := math.Ceil(float64(min(max(rate, 0), 1)) * (1 << 24))
	return mask{
		key:       [4]uint32{0: uint32(seed), 2: uint32(seed >> 32)},
		counter:   [4]uint32{0, uint32(step), uint32(stream), uint32(step>>32) ^ uint32(stream>>32)},
		threshold: uint32(threshold),
		kept:      1 / (1 - rate),
	}
}

// draw fills part, which begins at element from, a multiple of 4.
func (m mask) draw(isa ISA, part []float32, from int) {
	m.counter[0] = uint32(from / 4)
	if !m.fast(isa, part) {
		m.portable(part)
	}
}

func (m mask) portable(part []float32) {
	for i := 0; i < len(part); i += 4 {
		words := philox(m.counter, m.key[0], m.key[2])
		m.counter[0]++
		for k, word := range words[:min(4, len(part)-i)] {
			part[i+k] = m.kept
			if word>>8 < m.threshold {
				part[i+k] = 0
			}
		}
	}
}

// philox computes Philox 4x32 with 10 rounds: the counter encrypted with the key.
func philox(c [4]uint32, key0, key1 uint32) [4]uint32 {
	for range 10 {
		hi0, lo0 := bits.Mul32(0xD2511F53, c[0])
		hi1, lo1 := bits.Mul32(0xCD9E8D57, c[2])
		c = [4]uint32{hi1 ^ c[1] ^ key0, lo1, hi0 ^ c[3] ^ key1, lo0}
		key0 += 0x9E3779B9
		key1 += 0xBB67AE85
	}
	return c
}
