package main

import "github.com/stoker-ml/stoker/compute/kernel"

// fma512 does r_i = x*y + r_i on 12 registers of 16 float32 an iteration: 12 chains hide the
// latency of 4 cycles of two units.
//
//go:noescape
func fma512(iterations int)

// fma256 is the same on registers of 8.
//
//go:noescape
func fma256(iterations int)

const peakKV = 12

func peakLoops() map[kernel.ISA]peakLoop {
	return map[kernel.ISA]peakLoop{
		kernel.AVX512: {fma512, peakKV * 16 * 2},
		kernel.AVX2:   {fma256, peakKV * 8 * 2},
	}
}
