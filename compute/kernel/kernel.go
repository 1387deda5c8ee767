// Package kernel is the arithmetic of training on a processor's cores: products of matrices,
// functions of each element, sums, softmax, look-ups in tables, and the formulas by which
// optimizers change weights. All of it is float32, row major, and without allocation.
//
// Every function here is written twice at most: in Go, which is what it means and what runs where
// nothing faster is known, and in assembly for what Level says the processor can do. Both are
// tested against each other with random and hostile numbers. A result may differ between Levels in
// its last bits, never between two runs at one Level, and never by the number of threads: a Team
// divides what is written, and each element is computed by one thread in one order.
//
// Slices must have the lengths that a comment names; a function panics on shorter ones, before it
// writes anything. NaN and infinities go through as IEEE 754 says unless a comment says otherwise.
//
//go:generate go -C asm run .
package kernel

import (
	"fmt"
	"os"

	"golang.org/x/sys/cpu"
)

// Level is what the kernels of a process are made of.
type Level int

// The levels, from the slowest.
const (
	Portable Level = iota // Go, on any processor
	AVX2                  // amd64 with AVX2 and FMA: 8 numbers at once
	AVX512                // amd64 with AVX-512 F, BW, DQ and VL: 16 numbers at once
)

// EnvLevel is the environment variable that asks for a lower level than the processor's: portable,
// avx2 or avx512. It is for tests, and for those who compare two machines to the last bit. Programs
// refuse what CheckLevel does.
const EnvLevel = "STOKER_KERNELS"

// level is chosen once, at start.
var level = chooseLevel(os.Getenv(EnvLevel), processorLevel())

// CurrentLevel is the Level of this process.
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

// CheckLevel says what is wrong with EnvLevel, which the kernels themselves heed only where nothing
// is: a word that is no level, or one that this processor lacks. It is for programs to ask at their
// start, before they compute what somebody wanted otherwise.
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

// chooseLevel is the level that was asked for where the processor has it, else the processor's.
func chooseLevel(asked string, processor Level) Level {
	for l := Portable; l <= processor; l++ {
		if l.String() == asked {
			return l
		}
	}
	return processor
}
