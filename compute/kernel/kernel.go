// Package kernel is the arithmetic of training on a processor's cores: matrix products, functions
// of each element, sums, softmax, look-ups in tables, and the formulas of optimizers. All of it is
// float32, row major, and without allocation.
//
// Every function has at most two implementations: in Go, which defines its result and runs if there
// is nothing faster, and in assembly for each ISA. Tests compare them with random and hostile
// numbers. A result may differ between ISAs in its last bits, but not between two runs with one
// ISA, nor by the number of threads: a ThreadPool divides the output, and each element is computed
// by one thread in a fixed order.
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

// ISA is an instruction set that kernels are written for.
type ISA int

// The instruction sets, slowest first.
const (
	Portable ISA = iota // Go, on any processor
	AVX2                // amd64 with AVX2 and FMA: 8 numbers at once
	AVX512              // amd64 with AVX-512 F, BW, DQ and VL: 16 numbers at once
)

// EnvISA is the environment variable that selects a slower instruction set than the processor's
// best one: portable, avx2 or avx512. It is for tests, and to compare two machines to the last bit.
// Programs report the error of CheckISA.
const EnvISA = "STOKER_KERNELS"

// currentISA is chosen once, at start.
var currentISA = chooseISA(os.Getenv(EnvISA), processorISA())

// CurrentISA returns the instruction set that the kernels of this process use.
func CurrentISA() ISA { return currentISA }

func (isa ISA) String() string {
	switch isa {
	case Portable:
		return "portable"
	case AVX2:
		return "avx2"
	case AVX512:
		return "avx512"
	}
	return fmt.Sprintf("ISA(%d)", int(isa))
}

func processorISA() ISA {
	x := cpu.X86
	switch {
	case x.HasAVX512F && x.HasAVX512BW && x.HasAVX512DQ && x.HasAVX512VL && x.HasAVX2 && x.HasFMA:
		return AVX512
	case x.HasAVX2 && x.HasFMA:
		return AVX2
	}
	return Portable
}

// CheckISA returns an error if EnvISA names no instruction set, or one that this processor lacks;
// the kernels ignore such a value. Programs call it at their start, before they compute with
// another instruction set than the requested one.
func CheckISA() error { return checkISA(os.Getenv(EnvISA), processorISA()) }

func checkISA(asked string, processor ISA) error {
	if asked == "" || chooseISA(asked, processor).String() == asked {
		return nil
	}
	if asked == AVX2.String() || asked == AVX512.String() {
		return fmt.Errorf("%s=%s: this processor has no more than %v", EnvISA, asked, processor)
	}
	return fmt.Errorf("%s=%q: expected %v, %v or %v, or nothing for what the processor has", EnvISA, asked, Portable, AVX2, AVX512)
}

// chooseISA returns the requested instruction set if the processor has it, else the processor's
// best one.
func chooseISA(asked string, processor ISA) ISA {
	for isa := Portable; isa <= processor; isa++ {
		if isa.String() == asked {
			return isa
		}
	}
	return processor
}
