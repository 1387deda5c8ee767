// Package kernel is the arithmetic of training on a processor's cores: matrix products, functions
// of each element, sums, softmax, look-ups in tables, and the formulas of optimizers. All of it is
// float32, row major, and without allocation.
//
// Every function has at most two implementations: in Go, which defines its result and runs if there
// is nothing faster, and in assembly for the instruction sets of each Level. Tests compare them
// with random and hostile numbers. A result may differ between Levels in its last bits, but not
// between two runs at one Level, nor by the number of threads: a Team divides the output, and each
// element is computed by one thread in a fixed order.
//
// Slices must have the documented lengths; a function panics on shorter ones, before it writes
// anything. NaN and infinities propagate as in IEEE 754 unless documented otherwise.
//
//go:generate go -C asm run .
package kernel

import (
	"fmt"
	"os"

	"golang.org/x/sys/cpu"
)

// Level is the instruction set that the kernels of a process use.
type Level int

// The levels, slowest first.
const (
	Portable Level = iota // Go, on any processor
	AVX2                  // amd64 with AVX2 and FMA: 8 numbers at once
	AVX512                // amd64 with AVX-512 F, BW, DQ and VL: 16 numbers at once
)

// EnvLevel is the environment variable that selects a lower level than the processor's: portable,
// avx2 or avx512. It is for tests, and to compare two machines to the last bit. Programs report the
// error of CheckLevel.
const EnvLevel = "STOKER_KERNELS"

// level is chosen once, at start.
var level = chooseLevel(os.Getenv(EnvLevel), processorLevel())

// CurrentLevel returns the Level of this process.
func CurrentLevel() Level { return level }

func (l Level) String() string {
	switch l {
	case Portable:
		return "portable"
	case AVX2:
		return "avx2"
	case AVX512:
		return "avx512"
	}
	return fmt.Sprintf("Level(%d)", int(l))
}

func processorLevel() Level {
	x := cpu.X86
	switch {
	case x.HasAVX512F && x.HasAVX512BW && x.HasAVX512DQ && x.HasAVX512VL && x.HasAVX2 && x.HasFMA:
		return AVX512
	case x.HasAVX2 && x.HasFMA:
		return AVX2
	}
	return Portable
}

// CheckLevel returns an error if EnvLevel is not a level, or one that this processor lacks; the
// kernels ignore such a value. Programs call it at their start, before they compute at another
// level than the requested one.
func CheckLevel() error { return checkLevel(os.Getenv(EnvLevel), processorLevel()) }

func checkLevel(asked string, processor Level) error {
	if asked == "" || chooseLevel(asked, processor).String() == asked {
		return nil
	}
	if asked == AVX2.String() || asked == AVX512.String() {
		return fmt.Errorf("%s=%s: this processor has no more than %v", EnvLevel, asked, processor)
	}
	return fmt.Errorf("%s=%q: expected %v, %v or %v, or nothing for what the processor has", EnvLevel, asked, Portable, AVX2, AVX512)
}

// chooseLevel returns the requested level if the processor has it, else the processor's.
func chooseLevel(asked string, processor Level) Level {
	for l := Portable; l <= processor; l++ {
		if l.String() == asked {
			return l
		}
	}
	return processor
}
