package main

import (
	"fmt"

	"github.com/stoker-ml/stoker/compute/kernel"
)

// peakIterations make a loop of some tens of milliseconds.
const peakIterations = 20_000_000

// peakLoop is a loop of fused multiply-adds without memory and without waiting, which no product
// can be faster than.
type peakLoop struct {
	run           func(iterations int)
	flopIteration int // operations in an iteration: registers x numbers in a register x 2
}

// peakOf is the loop of a level of kernels; an error where there is none.
func peakOf(level kernel.Level) (peakLoop, error) {
	if loop, ok := peakLoops()[level]; ok {
		return loop, nil
	}
	return peakLoop{}, fmt.Errorf("no loop is written for kernels of level %v on this processor", level)
}

// gigaflops is the rate of operations in 10^9 a CPU-second.
func (p peakLoop) gigaflops() (float64, error) {
	seconds, err := cpuOf(func() error {
		p.run(peakIterations)
		return nil
	})
	return float64(p.flopIteration) * peakIterations / seconds / 1e9, err
}
